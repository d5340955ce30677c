#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace segre::test {

/// An HTTP server on this machine that serves one file and misbehaves on demand, for tests of downloads.
class HttpServer {
 public:
  enum class Manner {
    good,       ///< whole files and ranges
    no_ranges,  ///< always the whole file
    cuts,       ///< at most `cut_after` bytes per answer, then the connection breaks
    unsized,    ///< as cuts, and no answer says how long it is: a cut one looks whole
    not_found,  ///< 404
  };

  explicit HttpServer(std::string body, Manner manner = Manner::good, size_t cut_after = 0);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// The address of the file.
  std::string url() const;
  /// The Range headers of all requests so far, "" if there was none.
  std::vector<std::string> ranges() const;

 private:
  void serve();
  void answer(int connection);

  std::string body_;
  Manner manner_;
  size_t cut_after_;
  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> ranges_;
  std::thread thread_;
};

}  // namespace segre::test
