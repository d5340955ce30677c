#pragma once  // internal

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "segre/eval/table_evaluation.h"
#include "segre/report/figures.h"
#include "segre/report/page.h"

namespace segre {

/// A page about the samples of a table: verdicts, the measures with what they stand beside, every column as a histogram
/// or as bars, the dependence of pairs, and how near samples come to training rows.
///   all       has all metrics and, for plain labels, the nearest training items
///   setting   what was evaluated and how, one paragraph each
Page table_page(const TableEvaluationData& data, const TableEvaluation& found, const Evaluation& all,
                const std::string& title, const std::vector<std::string>& setting);

/// Held-out rows and samples column by column: numbers as overlaid histograms, labels as bars. The first kMostColumns.
inline constexpr int64_t kMostColumns = 60;
Figure column_figure(const TableEvaluationData& data, const TableEvaluation& found);

/// The nearest training row of the first samples as CSV: sample, rank (0: the sample itself), distance, train_item
/// (counted from 0), the cells.
void write_nearest_csv(std::ostream& out, const TableEvaluationData& data, const TableEvaluation& found);

/// The comparison of every column as CSV: column, measure, distance, exact, training, samples_mean, samples_sd,
/// held_out_mean, held_out_sd, differs, where.
void write_columns_csv(std::ostream& out, const TableEvaluation& found);

/// Writes metrics.csv, columns.csv, report.html and, if there are training rows, neighbours.csv into an existing
/// folder, each whole or not at all. `labels` are those that `all` was made of.
void write_table_evaluation(const std::filesystem::path& folder, const TableEvaluationData& data,
                            const TableEvaluation& found, const EvaluationData& labels, const Evaluation& all,
                            const Page& page, const std::filesystem::path& plotly);

}  // namespace segre
