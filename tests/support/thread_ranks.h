#pragma once

#include <functional>
#include <memory>

#include "segre/ranks/ranks.h"

namespace segre::test {

/// Calls `work` on as many threads, each of which is one of the ranks, and waits for all. If one throws, all end, and
/// its exception is thrown here.
void as_ranks(int size, const std::function<void(const std::shared_ptr<Ranks>& ranks)>& work);

}  // namespace segre::test
