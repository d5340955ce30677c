#include <limits>

#include "segre/config/kinds.h"
#include "segre/flow/sampler.h"
#include "segre/flow/sampler_kinds.h"

namespace segre {

void declare_sample_keys(ConfigSchema& schema, SampleOptions& options) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  declare_kind_key(schema, "sample.sampler", &options.sampler, sampler_kinds(), Later::free,
                   "how noise is carried to labels; all but sde and erasure follow the flow");
  schema.integer("sample.steps", &options.steps, {1, 1e6}, Later::free,
                 "steps of equal length in t; dopri5 chooses its own; erasure: evaluations");
  schema.choice<Stop>("sample.stop", &options.stop, {{"decision", Stop::decision}, {"end", Stop::end}}, Later::free,
                      "when labels are read: at the decision time, or at t = 1");
  schema.number("sample.t1", &options.t1, {0, kInf}, Later::free,
                "read labels at this time instead; 0: use sample.stop");
  schema.choice<Readout>("sample.readout", &options.readout,
                         {{"argmax", Readout::argmax}, {"matched", Readout::matched}, {"segre", Readout::segre}},
                         Later::free,
                         "the largest coordinate, a draw from the path's Bayes rule, or one from T(W), W = softmax(v)");
  schema.number("sample.tolerance", &options.tolerance, {1e-8, 1}, Later::free,
                "error allowed per step, relative to 1 + |v| (dopri5)");
  schema.choice<FillOrder>("sample.order", &options.order,
                           {{"random", FillOrder::random}, {"confidence", FillOrder::confidence}}, Later::free,
                           "which cells are filled in first: any, or those with the most certain label (erasure)");
  schema.choice<SamplePrecision>(
      "sample.precision", &options.precision,
      {{"float32", SamplePrecision::float32}, {"trained", SamplePrecision::trained}}, Later::free,
      "what the network computes with: float32, or what it was trained with, bfloat16 on CPUs that multiply it fast");
}

}  // namespace segre
