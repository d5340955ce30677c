#pragma once  // internal

namespace segre {

/// While alive, SIGINT and SIGTERM make long work stop at the next good point instead of ending the program, and are
/// acknowledged on stderr. A second signal ends the program at once with its exit_code_of(), removing temporary files.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// Whether a signal has arrived.
  static bool requested() { return signal() != 0; }
  /// The signal that has arrived since the last guard was created; 0: none.
  static int signal();
};

/// From here on SIGINT, SIGTERM, SIGHUP and SIGPIPE end the program with their exit_code_of(), after removing what is
/// registered in cleanup.h. A signal that was ignored when the program started stays ignored. main() calls this once.
void end_cleanly_on_signals();

/// The shell convention: 130 for SIGINT, 143 for SIGTERM.
constexpr int exit_code_of(int signal) { return 128 + signal; }

}  // namespace segre
