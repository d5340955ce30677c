#pragma once

#include <filesystem>

#include "segre/ood/tables.h"
#include "segre/report/figures.h"

namespace segre {

/// The items with the highest recommended score of one source, and where they are odd.
struct OddestItems {
  torch::Tensor numbers;  ///< [K] int64: DataSource::file_row of each
  torch::Tensor labels;   ///< [K, n] int64
  torch::Tensor nats;     ///< [K, n] float64: what each variable contributes to the bound on -log p
};

/// Everything a comparison of inside and outside items shows.
struct OutsideReport {
  Space space;
  std::string model;  ///< the run, as named by the user
  ScoredItems inside;
  ScoredItems outside;
  std::vector<ScoreResult> results;  ///< compare(inside.scores, outside.scores)
  std::string how_recommended;       ///< OutsideScores::how_recommended
  std::string bound{};               ///< Scores::describe of the bound on -log p
  OddestItems oddest_inside{};
  OddestItems oddest_outside{};
  std::vector<std::string> notes{};  ///< what the caller should know about the request, each once
};

/// Why raw likelihood is a poor detector, for help texts and reports.
extern const char* const kWhyNotRawLikelihood;
/// How the recommended score of images and sequences is chosen, for help texts and reports.
extern const char* const kHowRecommended;
/// The same for tables.
extern const char* const kHowRecommendedOfTables;

/// Histograms of one score for inside and outside items, on common bins.
Figure score_histogram(const Score& inside, const Score& outside);

/// Writes scores.csv, auroc.csv, report.html and, for images, items.png (a row of inside and a row of outside items)
/// and oddest.png (the oddest items of both, each row above the nats of its pixels) into an existing folder. `plotly`
/// is the path of plotly.min.js.
void write_outside_report(const std::filesystem::path& folder, const OutsideReport& report,
                          const std::filesystem::path& plotly);

}  // namespace segre
