#pragma once

#include "segre/core/error.h"

namespace segre {

/// Prints "note: TEXT" as one line to standard error: what the user should know and need not change.
void print_note(const std::string& text);

/// The same of the concatenated parts.
template <class... Parts>
void note(const Parts&... parts) {
  print_note(concat(parts...));
}

}  // namespace segre
