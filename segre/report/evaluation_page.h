#pragma once

#include "segre/eval/evaluation.h"
#include "segre/report/page.h"

namespace segre {

/// A page with everything an evaluation found: the table of metrics, notes, and for images pictures and maps.
///   title     of the page
///   setting   what was evaluated how, one paragraph each
Page evaluation_page(const EvaluationData& data, const Evaluation& evaluation, const std::string& title,
                     const std::vector<std::string>& setting);

/// The nearest training items of every sample as CSV: sample, rank, distance, train_item (counted from 0 among the
/// items trained on), mirrored. Unless these are images the labels follow; rank 0 is then the sample itself.
void write_neighbours_csv(std::ostream& out, const EvaluationData& data, const Evaluation& evaluation);

/// Files of an evaluation, each written whole, into a folder that exists: metrics.csv, report.html and, where there are
/// training items, neighbours.csv and, for images, neighbours.png.
void write_evaluation(const std::filesystem::path& folder, const EvaluationData& data, const Evaluation& evaluation,
                      const Page& page, const std::filesystem::path& plotly);

}  // namespace segre
