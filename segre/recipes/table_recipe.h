#pragma once  // internal

#include "segre/recipes/recipe.h"

namespace segre {

/// The recipe of a network for tables and sequences.
Experiment table_recipe(const std::string& kind, const Space& space, int64_t n_items, torch::Device device);

/// The network that we choose for them without knowing the time.
std::string table_kind(const Space& space, torch::Device device);

/// choose_recipe for tables and sequences if no network was requested.
Choice choose_table_recipe(const RecipeTask& task);

}  // namespace segre
