#pragma once

#include <string>

#include "segre/ranks/launch.h"
#include "segre/ranks/ranks.h"

namespace segre {

/// Joins the ranks of this process's job: one_rank() without a launcher, or with a single rank; else they meet, and
/// talk by Gloo. InputError if this build cannot, or as find_launch.
std::shared_ptr<Ranks> join_ranks(const std::optional<Launch>& launch = find_launch());

/// Whether this build has Gloo, for ranks on CPUs and for all that ranks agree upon.
bool has_gloo();

/// Tells the other ranks of this job, if any, why this one ends: they end too, with the message of the first. A program
/// calls it when an exception reaches its end. Returns whether this rank was the first to fail.
bool tell_failure(const std::string& message) noexcept;

/// Whether this process is rank 0 of its job, or alone.
bool is_first_rank() noexcept;

}  // namespace segre
