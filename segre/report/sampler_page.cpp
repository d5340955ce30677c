#include "segre/report/sampler_page.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/report/sampler_figures.h"

namespace segre {

Page sampler_page(const SamplerQuality& quality, const LabelSummary* data, const SamplerPageOptions& options) {
  Page page("Samplers: quality against evaluations");
  page.text(concat(quality.count, " samples of ", options.run, " by every sampler, from the same noise, compared with ",
                   options.reference_steps, " steps of rk4."));
  page.heading("Labels that differ from the reference");
  const double smallest = 0.5 / static_cast<double>(quality.count * options.n_variables);
  const Figure disagreement = disagreement_curves(quality, options.threshold, smallest);
  page.chart(disagreement.traces, disagreement.layout);
  page.caption(concat("Lower is better. Runs without any difference are drawn at half a label, ", smallest,
                      ". A sampler whose curve stays below the dashed line is as good as the reference:"));
  for (const std::string& line : describe_knees(quality, options.threshold)) page.text(line);
  page.heading("Labels that are not 0");
  const Figure nonzero = nonzero_curves(quality, data);
  page.chart(nonzero.traces, nonzero.layout);
  page.caption(
      concat("Closer to the reference is better. sde draws different samples: their mean scatters about it by ",
             quality.reference.summary.nonzero_sd * std::sqrt(2.0 / static_cast<double>(quality.count)),
             " (one standard deviation)."));
  page.heading("All runs");
  const QualityTable table = quality_table(quality, data);
  page.table(table.header, table.rows);
  return page;
}

}  // namespace segre
