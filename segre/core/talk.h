#pragma once

#include <ostream>

namespace segre {

/// Where the library tells people how long work goes: progress, notes and warnings, never results. Standard error,
/// unless a program that embeds segre has said otherwise.
std::ostream& talk();

/// From here on, in all threads, talk() is `out`, which lives until it is replaced; nullptr: nowhere, for programs that
/// speak for themselves. A bar that redraws itself is drawn on a terminal's standard error only, elsewhere lines are.
void set_talk(std::ostream* out);

}  // namespace segre
