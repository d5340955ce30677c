#pragma once

#include <iosfwd>
#include <vector>

#include "segre/recipes/scaling_plan.h"

namespace segre::cli {

/// Prints the plan for some numbers of ranks as a table, then what it assumes and what its last column means.
/// `share_source` is the origin of the assumed share of the peak; empty: from the user.
void print_scaling(std::ostream& out, const StepWork& work, Machine machine, const std::string& share_source,
                   const std::vector<int64_t>& ranks);

}  // namespace segre::cli
