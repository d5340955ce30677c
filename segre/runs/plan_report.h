#pragma once  // internal

#include <nlohmann/json_fwd.hpp>

#include "segre/runs/train_plan.h"
#include "segre/train/train_callbacks.h"

namespace segre {

/// What a training of this plan reports when it starts, with the number of its network's parameters. Refers to the
/// plan.
TrainStart start_of(const TrainPlan& plan, int64_t n_parameters);

/// The same without a network: its parameters are counted without allocating them, unless it is the program's own.
TrainStart start_of(const TrainPlan& plan);

/// The plan as docs/json.md describes it: data, network and the reasons for it, length, device, ranks, config.
nlohmann::json to_json(const TrainPlan& plan);

}  // namespace segre
