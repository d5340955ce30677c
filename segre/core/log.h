#pragma once

#include <ostream>

#include "segre/core/error.h"

namespace segre {

/// The stream for the library's log messages: notes and warnings, never results. Discards them until a program calls
/// send_log_to.
std::ostream& log_stream();

/// Sends the log messages of all threads to `out`, which must live until it is replaced; nullptr discards them.
void send_log_to(std::ostream* out);

/// Logs "note: TEXT" on one line: something the user should know but need not act on.
void log_note(const std::string& text);

/// Concatenates the parts first.
template <class... Parts>
void note(const Parts&... parts) {
  log_note(concat(parts...));
}

}  // namespace segre
