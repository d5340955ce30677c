#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace segre {

/// So many labels may be absent in a row: values up to here are never strays.
inline constexpr int64_t kWidestHonestGap = 16;

/// The smallest of the values of label maps that look like mistakes: those behind a gap so wide that most labels would
/// never occur, and so few of them (one in a thousand, or a single one) that no class would be. `counts` says how often
/// each value occurs. Nothing where all look like labels: gaps are fine, as in Cityscapes, and so is a frequent 255.
std::optional<int64_t> find_strays(const std::map<int64_t, int64_t>& counts);

/// What messages say of it: "occurs once in 4096 values and would make 201 labels, of which 195 never occur".
std::string describe_stray(const std::map<int64_t, int64_t>& counts, int64_t stray);

}  // namespace segre
