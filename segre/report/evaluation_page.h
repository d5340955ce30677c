#pragma once  // internal

#include "segre/eval/evaluation.h"
#include "segre/report/page.h"

namespace segre {

/// A page with everything an evaluation found: the table of metrics, notes, and for images pictures and maps.
///   title     of the page
///   setting   what was evaluated and how, one paragraph each
Page evaluation_page(const EvaluationData& data, const Evaluation& evaluation, const std::string& title,
                     const std::vector<std::string>& setting);

/// The nearest training items of every sample as CSV: sample, rank, distance, train_item (counted from 0 among the
/// items trained on), mirrored. Except for images the labels follow, and rank 0 is the sample itself.
void write_neighbours_csv(std::ostream& out, const EvaluationData& data, const Evaluation& evaluation);

/// Writes the files of an evaluation, each whole or not at all, into an existing folder: metrics.csv, report.html and,
/// if there are training items, neighbours.csv and, for images, neighbours.png.
void write_evaluation(const std::filesystem::path& folder, const EvaluationData& data, const Evaluation& evaluation,
                      const Page& page, const std::filesystem::path& plotly);

}  // namespace segre
