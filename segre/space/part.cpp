#include "segre/space/part.h"

namespace segre {

const PartWords& words_of(PartKind kind) {
  // In the order of PartKind.
  static constexpr PartWords kWords[] = {{"table", "a", "column", "columns"},
                                         {"sequence", "a", "position", "positions"},
                                         {"image", "an", "pixel", "pixels"}};
  return kWords[static_cast<int>(kind)];
}

int64_t Part::size() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

}  // namespace segre
