#pragma once  // internal

#include <algorithm>
#include <bit>
#include <cstdint>

#include "segre/recipes/recipe.h"

namespace segre {

/// Items per step, at most `most`: a small part of the data, so that successive steps see different items.
inline int64_t batch_for(int64_t n_items, int64_t most) {
  constexpr int64_t kStepsPerEpoch = 4;
  constexpr int64_t kLeast = 16;
  if (n_items == 0) return most;
  return std::clamp(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n_items / kStepsPerEpoch + 1))),
                    std::min(kLeast, most), most);
}

/// Steps that pass over the data `epochs` times, within reasonable limits.
inline int64_t steps_for(int64_t n_items, int64_t epochs, int64_t batch) {
  return n_items == 0 ? 20'000 : std::clamp<int64_t>(epochs * n_items / batch, 2'000, 50'000);
}

/// A recipe with the user's changes made.
inline Experiment changed(Experiment recipe, const RecipeTask& task) {
  task.change(recipe);
  return recipe;
}

}  // namespace segre
