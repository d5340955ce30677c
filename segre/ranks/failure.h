#pragma once

#include <string>

namespace segre {

/// Tells the other ranks of this job, if any, why this one ends: they end too, with the message of the first. A program
/// calls it when an exception reaches its end. Returns whether this rank was the first to fail.
bool tell_failure(const std::string& message) noexcept;

/// Whether this process is rank 0 of its job, or alone.
bool is_first_rank() noexcept;

}  // namespace segre
