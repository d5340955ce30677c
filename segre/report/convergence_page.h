#pragma once  // internal

#include <filesystem>
#include <ostream>

#include "segre/eval/convergence.h"
#include "segre/report/page.h"

namespace segre {

/// draws,relative_error,sd: one line per point; sd is empty for a single item, which has no spread.
void write_convergence_csv(std::ostream& out, const std::vector<ConvergencePoint>& points);

/// A page with the curve. `setting` describes the experiment.
Page convergence_page(const std::vector<ConvergencePoint>& points, const std::string& setting);

}  // namespace segre
