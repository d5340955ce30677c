#include "segre/ranks/meeting.h"

#include <c10/util/Flags.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdio>

#include "segre/core/cleanup.h"
#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/ranks/join.h"

C10_DECLARE_int(caffe2_log_level);

namespace segre {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kArrival{300'000};  // how long ranks wait for each other at the start
constexpr milliseconds kNotice{5'000};     // after which the missing ranks are reported
constexpr milliseconds kAnswer{10'000};    // of the store
constexpr milliseconds kBeat{500};         // between signs of life
constexpr milliseconds kNews{2'000};       // how long the reason of a lost connection is awaited
constexpr int kSilence = 20;               // seconds after which a silent rank is given up
constexpr int kFailed = 1;                 // exit code
constexpr int kSpeaker = 1;                // the rank that prints when rank 0 cannot
constexpr int kOnlyErrors = 2;             // of LibTorch's log levels
const char* const kFailure = "failure";

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }
std::string key(const char* what, int rank) { return concat(what, "/", rank); }
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Whether this rank is the one that answers where all meet.
bool holds_store(const Launch& launch) { return launch.rank == 0 && !launch.agent_listens; }

double seconds_of(milliseconds time) { return std::chrono::duration<double>(time).count(); }

c10::intrusive_ptr<c10d::TCPStore> try_to_connect(const Launch& launch) {
  c10d::TCPStoreOptions options;
  options.port = launch.port;
  options.isServer = holds_store(launch);
  options.waitWorkers = false;
  options.timeout = kNotice;
  return c10::make_intrusive<c10d::TCPStore>(launch.address, options);
}

// The store of this job, once whoever holds it is there.
c10::intrusive_ptr<c10d::Store> connect(const Launch& launch) {
  const double start = now_seconds();
  for (;;) {
    try {
      const auto store = try_to_connect(launch);
      store->setTimeout(kArrival);
      return c10::make_intrusive<c10d::PrefixStore>("segre/" + launch.attempt, store);
    } catch (const std::exception& error) {
      if (holds_store(launch) || now_seconds() - start > seconds_of(kArrival))
        fail("rank ", launch.rank, " of ", launch.size, ": no meeting at ", launch.address, ":", launch.port, ": ",
             first_line(error.what()));
      if (launch.rank == kSpeaker)
        note("rank ", launch.rank, " waits for ", launch.agent_listens ? "the launcher" : "rank 0", " at ",
             launch.address, ":", launch.port);
    }
  }
}

std::shared_ptr<Meeting> current;

}  // namespace

std::string host_name() {
  char name[256] = "unknown";
  ::gethostname(name, sizeof name - 1);
  return name;
}

bool tell_failure(const std::string& message) noexcept {
  try {
    return current != nullptr && current->tell(concat(current->name(), ": ", message));
  } catch (const std::exception&) {  // nothing can be sent any longer, and rank 0 may be unable to print
    return current->rank() == kSpeaker;
  }
}

bool is_first_rank() noexcept {
  try {
    const auto launch = find_launch();
    return !launch || launch->rank == 0;
  } catch (const std::exception&) {  // a wrong environment is an error of its own, which everyone may report
    return true;
  }
}

std::shared_ptr<Meeting> Meeting::meet(const Launch& launch) {
  if (current) fail("the ranks of this process have met before");
  current = std::make_shared<Meeting>(launch);
  current->await_all();
  return current;
}

Meeting::Meeting(const Launch& launch) : launch_(launch), heard_at_(now_seconds()) {
  // A rank that ends makes the others' stores print warnings with stack traces; what happened is printed here.
  if (!environment("TORCH_CPP_LOG_LEVEL")) FLAGS_caffe2_log_level = kOnlyErrors;
  store_ = connect(launch);
  side_ = store_->clone();
  side_->setTimeout(kAnswer);
  store_->set(key("name", launch_.rank), bytes_of(concat(host_name(), ", process ", ::getpid())));
  looked_at_ = now_seconds();
  watch_ = std::thread([this] { watch(); });
  guard_ = std::thread([this] { guard(); });
}

Meeting::~Meeting() {
  end();
  watch_.join();
  guard_.join();
}

void Meeting::await_all() {
  std::vector<std::string> names;
  for (int k = 0; k < launch_.size; ++k) names.push_back(key("name", k));
  const double start = now_seconds();
  for (;;) {
    try {
      return store_->wait(names, kNotice);
    } catch (const std::exception&) {
      const auto missing = concat(missing_ranks(), " of ", launch_.size, " at ", launch_.address, ":", launch_.port);
      if (now_seconds() - start > seconds_of(kArrival))
        fail(missing, " did not come within ", kArrival / std::chrono::seconds(1), " seconds");
      if (launch_.rank == 0) note("waiting for ", missing);
    }
  }
}

// "rank 3" or "rank 3 and 12 others".
std::string Meeting::missing_ranks() {
  std::vector<int> missing;
  for (int k = 0; k < launch_.size; ++k)
    if (!store_->check({key("name", k)})) missing.push_back(k);
  if (missing.empty()) return "no rank";
  const auto others = missing.size() - 1;
  const auto rest = concat(" and ", others, others == 1 ? " other" : " others");
  return concat("rank ", missing.front(), others == 0 ? "" : rest);
}

void Meeting::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  change_.notify_all();
}

// Waits for the next look; returns whether there is to be one.
bool Meeting::pause() {
  std::unique_lock lock(mutex_);
  return !change_.wait_for(lock, kBeat, [this] { return ended_; });
}

std::string Meeting::name_of(int rank) {
  const auto name = key("name", rank);
  return concat("rank ", rank, side_->check({name}) ? " (" + text_of(side_->get(name)) + ")" : "");
}

std::string Meeting::lost_store() const { return launch_.agent_listens ? "the launcher was lost" : "rank 0 was lost"; }

// One look at the others: a sign of life of this rank, news of a failure, a sign of life of the next rank.
void Meeting::look(double now) {
  side_->set(key("alive", launch_.rank), bytes_of(std::to_string(++beat_)));
  if (side_->check({kFailure})) throw Error(text_of(side_->get(kFailure)));
  const int next = (launch_.rank + 1) % launch_.size;
  const auto alive = key("alive", next);
  const std::string sign = side_->check({alive}) ? text_of(side_->get(alive)) : std::string();
  const bool has_come = !sign.empty();  // await_all has more patience
  if (!has_come || sign != neighbour_ || side_->check({key("left", next)})) heard_at_ = now;
  neighbour_ = sign;
  if (now - heard_at_ > kSilence)
    side_->compareSet(kFailure, {}, bytes_of(concat(name_of(next), " has been silent for ", kSilence, " seconds")));
}

void Meeting::watch() {
  double before = now_seconds();
  std::string reason;
  do {
    const double now = now_seconds();
    // After a pause of this process itself (SIGSTOP, a suspended machine) nothing is known about the others.
    if (now - before > kSilence / 2.0) heard_at_ = now;
    before = now;
    try {
      look(now);
    } catch (const Error& failure) {
      reason = failure.what();
    } catch (const std::exception&) {
      reason = lost_store();
    }
    looked_at_ = now_seconds();
  } while (pause() && reason.empty());  // this rank's own messages, or the end of the job, come first
  if (!reason.empty() && pause()) give_up(reason);
}

void Meeting::give_up(const std::string& reason) {
  if (launch_.rank == 0 || (launch_.rank == kSpeaker && reason.starts_with(lost_store())))
    ::dprintf(STDERR_FILENO, "segre: %s\n", reason.c_str());  // std::cerr may belong to someone else
  remove_registered();
  ::_exit(kFailed);
}

// A store that does not answer (its process was stopped, its machine is gone) keeps the watching thread waiting.
void Meeting::guard() {
  double before = now_seconds();
  while (pause()) {
    const double now = now_seconds();
    if (now - before > kSilence / 2.0) looked_at_ = now;
    before = now;
    if (now - looked_at_ > kSilence) give_up(concat(lost_store(), ": no answer for ", kSilence, " seconds"));
  }
}

bool Meeting::tell(const std::string& message) {
  const bool first = text_of(store_->compareSet(kFailure, {}, bytes_of(message))) == message;
  end();  // this rank's own watch would end it with the message as another's
  // The store ends with the rank that holds it; the others look at it once in a while.
  if (holds_store(launch_) && launch_.size > 1) std::this_thread::sleep_for(3 * kBeat);
  return first;
}

void Meeting::explain(const std::string& trouble) {
  const double start = now_seconds();
  const double patience = seconds_of(kNews);
  std::string reason;
  try {
    std::vector<std::string> before(launch_.size);
    for (bool first = true; reason.empty(); first = false) {
      if (store_->check({kFailure})) reason = text_of(store_->get(kFailure));
      const bool late = now_seconds() - start > patience;
      for (int k = 0; k < launch_.size && reason.empty() && (first || late); ++k) {
        const auto alive = key("alive", k);
        const auto sign = store_->check({alive}) ? text_of(store_->get(alive)) : std::string();
        if (late && sign == before[k]) reason = concat(name_of(k), " was lost");
        before[k] = sign;
      }
      if (late && reason.empty()) reason = first_line(trouble);
      if (reason.empty()) std::this_thread::sleep_for(kBeat / 5);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    reason = lost_store();
  }
  fail(reason);
}

void Meeting::leave() {
  store_->set(key("left", launch_.rank), bytes_of("1"));
  store_->add("gone", 1);
  // Rank 0 may hold the store, so it goes last.
  std::vector<std::string> all;
  for (int k = 0; k < launch_.size && launch_.rank == 0; ++k) all.push_back(key("left", k));
  if (!all.empty()) store_->wait(all, kArrival);
  end();
}

}  // namespace segre
