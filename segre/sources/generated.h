#pragma once

#include <functional>
#include <memory>

#include "segre/data/source.h"
#include "segre/sources/item_random.h"

namespace segre {

/// Makes one item: fills `out` with n labels below 256, using only its random numbers.
using DrawItem = std::function<void(ItemRandom random, uint8_t* out)>;

/// An endless source that computes its items, several at a time on LibTorch's threads. rows() depend on `seed`; items()
/// depend on `seed` and the seed of their stream, and never repeat rows(), so held-out rows stay held out. InputError
/// for a space with more than 256 labels.
std::unique_ptr<DataSource> make_generated_source(Space space, Purpose purpose, uint64_t seed, DrawItem draw);

}  // namespace segre
