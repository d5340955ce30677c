#pragma once

#include "segre/tasks/detect_outside.h"
#include "segre/tasks/evaluate_run.h"
#include "segre/tasks/predict.h"
#include "segre/tasks/rank_outliers.h"
#include "segre/tasks/rows.h"
#include "segre/tasks/sample_run.h"
#include "segre/tasks/score.h"

// Every result as JSON, as --json prints it: docs/json.md has an example of each. A number that is not known is null.

namespace segre {

Json to_json(const Sampled& result);
Json to_json(const Completed& result);
Json to_json(const Predicted& result);
Json to_json(const ScoredData& result);
Json to_json(const ScoredSpace& result);
Json to_json(const RankedRows& result);
Json to_json(const RunEvaluation& result);
Json to_json(const OutsideReport& result);

/// The text that --json prints: the members of an object on a line each, and so the elements of those that are arrays
/// of more than numbers. Reading it again gives the same value.
std::string text_of(const Json& json);

}  // namespace segre
