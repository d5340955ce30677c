#pragma once

namespace segre {

/// While alive, SIGINT and SIGTERM ask long work to stop at the next good moment instead of ending the program, which
/// is said on stderr at once; a second signal ends it at once, with exit_code_of() it and without its temporary files.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// Whether a signal has come.
  static bool requested() { return signal() != 0; }
  /// Which signal has come since the last guard was made; 0: none.
  static int signal();
};

/// From here on SIGINT, SIGTERM, SIGHUP and SIGPIPE end the program with exit_code_of() them, after what cleanup.h
/// holds is removed. A signal that the program was started to ignore stays ignored. Called by main(), once.
void end_cleanly_on_signals();

/// As shells count: 130 for SIGINT, 143 for SIGTERM.
constexpr int exit_code_of(int signal) { return 128 + signal; }

}  // namespace segre
