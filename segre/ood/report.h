#pragma once

#include <filesystem>

#include "segre/ood/tables.h"
#include "segre/report/figures.h"

namespace segre {

/// Everything a comparison of inside and outside items shows.
struct OutsideReport {
  Space space;
  std::string model;  ///< the run, as named by the user
  ScoredItems inside;
  ScoredItems outside;
  std::vector<ScoreResult> results;  ///< compare(inside.scores, outside.scores)
  std::string how_recommended;       ///< OutsideScores::how_recommended
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
/// into an existing folder. `plotly` is the path of plotly.min.js.
void write_outside_report(const std::filesystem::path& folder, const OutsideReport& report,
                          const std::filesystem::path& plotly);

}  // namespace segre
