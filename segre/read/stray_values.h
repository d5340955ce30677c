#pragma once  // internal

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace segre {

/// The widest gap between labels that is not suspicious: values up to here are never strays.
inline constexpr int64_t kWidestHonestGap = 16;

/// The smallest value of label maps that looks like a mistake: above a gap so wide that most labels would never occur,
/// and too rare to be a class (one in a thousand, or a single one). `counts` says how often each value occurs. nullopt
/// if all look like labels: gaps are fine, as in Cityscapes, and so is a frequent 255.
std::optional<int64_t> find_strays(const std::map<int64_t, int64_t>& counts);

/// How messages describe it: "occurs once in 4096 values and would make 201 labels, of which 195 never occur".
std::string describe_stray(const std::map<int64_t, int64_t>& counts, int64_t stray);

}  // namespace segre
