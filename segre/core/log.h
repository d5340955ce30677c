#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "segre/core/error.h"

namespace segre {

/// The stream for the library's log messages: notes and warnings, never results. Discards them until a program calls
/// send_log_to.
std::ostream& log_stream();

/// Sends the log messages of all threads to `out`, which must live until it is replaced; nullptr discards them.
/// `redraws` says that a carriage return begins its line anew, as on a terminal or in a notebook: progress is then a
/// bar.
void send_log_to(std::ostream* out, bool redraws);

/// The same; lines are redrawn only if `out` is std::cerr and that is a terminal.
void send_log_to(std::ostream* out);

/// Whether the lines of log_stream() can be redrawn by a carriage return.
bool log_redraws();

/// Logs "note: TEXT" on one line: something the user should know but need not act on. If the calling thread collects
/// notes, its innermost NoteCollector gets the text instead.
void log_note(const std::string& text);

/// Collects the notes of the thread that makes it, while alive, so that a result can hold them. Notes that nobody took,
/// as when an exception ends the work, go on to the next collector or the log.
class NoteCollector {
 public:
  NoteCollector();
  ~NoteCollector();
  NoteCollector(const NoteCollector&) = delete;
  NoteCollector& operator=(const NoteCollector&) = delete;

  /// The notes since the last call, each text once, in order.
  std::vector<std::string> take();

 private:
  friend void log_note(const std::string& text);
  NoteCollector* outer_;
  std::vector<std::string> notes_;
};

/// log_note for each of them.
void log_notes(const std::vector<std::string>& texts);

/// Concatenates the parts first.
template <class... Parts>
void note(const Parts&... parts) {
  log_note(concat(parts...));
}

}  // namespace segre
