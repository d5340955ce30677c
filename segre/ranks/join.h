#pragma once

#include "segre/ranks/launch.h"
#include "segre/ranks/ranks.h"

namespace segre {

/// Joins the ranks of this process's job: one_rank() without a launcher, or with a single rank; else they meet, and
/// talk by Gloo. InputError if this build cannot, or as find_launch.
std::shared_ptr<Ranks> join_ranks(const std::optional<Launch>& launch = find_launch());

/// Whether this build has Gloo, for ranks on CPUs and for all that ranks agree upon.
bool has_gloo();

}  // namespace segre
