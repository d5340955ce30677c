#pragma once  // internal

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "segre/ranks/launch.h"

namespace segre {

/// The name of this machine.
std::string host_name();

/// Where the ranks of a job meet: a store of keys that all of them reach, and a thread per rank that informs the others
/// that it is alive. A rank that fails reports it (tell_failure), and every other rank ends within seconds with the
/// message of the first; so does one whose neighbour has been silent for kSilence, or which no longer reaches the
/// store.
class Meeting {
 public:
  /// Meets all others, and reports which are late; Error names them, address and port if they do not come. There is one
  /// meeting per process, which stays until its end, so that a failure can be reported after everything else is gone.
  static std::shared_ptr<Meeting> meet(const Launch& launch);
  explicit Meeting(const Launch& launch);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// The store, for c10d's process groups.
  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }
  /// Turns an error of communication into the Error to report: the first failure of any rank, which is known now or
  /// soon.
  [[noreturn]] void explain(const std::string& trouble);
  /// Tells the others why a rank fails, unless one has failed before; returns whether this was the first failure.
  bool tell(const std::string& message);
  int rank() const { return launch_.rank; }
  /// "rank 3 (host, process 123)", this one.
  std::string name() { return name_of(launch_.rank); }
  /// Waits until all ranks have come here; from then on none is missed.
  void leave();

 private:
  void await_all();
  std::string missing_ranks();
  void watch();
  void guard();
  [[noreturn]] void give_up(const std::string& reason);
  void end();
  bool pause();
  void look(double now);
  std::string name_of(int rank);
  std::string lost_store() const;

  Launch launch_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Store> side_;  // the watching thread's own connection
  bool ended_ = false;
  std::mutex mutex_;  // of ended_
  std::condition_variable change_;
  int64_t beat_ = 0;
  std::string neighbour_;                // its last sign of life
  double heard_at_ = 0.0;                // when that was new
  std::atomic<double> looked_at_ = 0.0;  // when the store last answered
  std::thread watch_;
  std::thread guard_;
};

}  // namespace segre
