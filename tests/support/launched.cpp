#include "tests/support/launched.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

namespace segre::test {

using std::chrono::steady_clock;

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);  // NOLINT: as the C library wants it
  const bool found = ::bind(socket, any, length) == 0 && ::getsockname(socket, any, &length) == 0;
  ::close(socket);
  if (!found) fail("no free port");
  return ntohs(address.sin_port);
}

Launched::Launched(int size, const Arguments& arguments, const std::vector<std::string>& variables, double seconds)
    : deadline_(steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(1000.0 * seconds))) {
  const int port = free_port();
  for (int rank = 0; rank < size; ++rank) {
    std::vector<std::string> set{concat("RANK=", rank),       concat("WORLD_SIZE=", size),
                                 concat("LOCAL_RANK=", rank), concat("LOCAL_WORLD_SIZE=", size),
                                 "MASTER_ADDR=127.0.0.1",     concat("MASTER_PORT=", port)};
    set.insert(set.end(), variables.begin(), variables.end());
    programs_.push_back(std::make_unique<Program>(arguments, "", set));
  }
}

std::vector<ProgramResult> Launched::wait() {
  std::vector<std::optional<ProgramResult>> found(programs_.size());
  const auto all_ended = [&] { return std::all_of(found.begin(), found.end(), [](auto& r) { return r.has_value(); }); };
  while (!all_ended() && steady_clock::now() < deadline_) {
    for (size_t k = 0; k < found.size(); ++k)
      if (!found[k]) found[k] = programs_[k]->result_if_ended();
    if (!all_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::vector<ProgramResult> results;
  for (size_t k = 0; k < found.size(); ++k) {
    if (!found[k]) programs_[k]->signal(SIGKILL);
    results.push_back(found[k] ? *found[k] : programs_[k]->wait());
  }
  return results;
}

std::vector<ProgramResult> run_ranks(int size, const Arguments& arguments) { return Launched(size, arguments).wait(); }

}  // namespace segre::test
