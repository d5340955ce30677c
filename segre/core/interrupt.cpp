#include "segre/core/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "segre/core/cleanup.h"

namespace segre {
namespace {

volatile std::sig_atomic_t g_guards = 0;
volatile std::sig_atomic_t g_signal = 0;

struct sigaction g_before[2];
constexpr int kAsked[2] = {SIGINT, SIGTERM};

// A step of a large network may take a while, so acknowledge the signal at once.
constexpr char kHeard[] = "\nstopping after this step; a second signal ends at once\n";

void on_signal(int number) {
  const bool may_wait = number == SIGINT || number == SIGTERM;
  if (may_wait && g_guards > 0 && g_signal == 0) {
    g_signal = number;
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kHeard, sizeof kHeard - 1);
    return;
  }
  remove_registered();
  ::_exit(exit_code_of(number));
}

// Shells start background jobs with SIGINT ignored, nohup ignores SIGHUP: leave those ignored.
void handle(int number) {
  struct sigaction current {};
  if (::sigaction(number, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) return;
  struct sigaction wanted {};
  wanted.sa_handler = on_signal;
  wanted.sa_flags = SA_RESTART;
  ::sigemptyset(&wanted.sa_mask);
  ::sigaction(number, &wanted, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  g_signal = 0;
  g_guards = g_guards + 1;
  for (int k = 0; k < 2; ++k) {
    ::sigaction(kAsked[k], nullptr, &g_before[k]);
    handle(kAsked[k]);
  }
}

InterruptGuard::~InterruptGuard() {
  for (int k = 0; k < 2; ++k) ::sigaction(kAsked[k], &g_before[k], nullptr);
  g_guards = g_guards - 1;
}

int InterruptGuard::signal() { return g_signal; }

void end_cleanly_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) handle(number);
}

}  // namespace segre
