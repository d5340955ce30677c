#include "segre/core/note.h"

#include <iostream>

namespace segre {

void print_note(const std::string& text) { std::cerr << one_line("note: " + text) << '\n'; }

}  // namespace segre
