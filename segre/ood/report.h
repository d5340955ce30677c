#pragma once  // internal

#include <filesystem>
#include <ostream>

#include "segre/ood/detector.h"
#include "segre/report/figures.h"
#include "segre/report/text_table.h"

namespace segre {

/// Items of one source with everything computed for them.
struct ExaminedItems {
  std::string source;                ///< as named by the user
  torch::Tensor numbers;             ///< [N] int64: DataSource::file_row of each
  torch::Tensor labels;              ///< [N, n] int64
  torch::Tensor nats;                ///< [N] float64: estimates of upper bounds on -log p
  torch::Tensor std_error;           ///< [N] float64: of nats
  std::vector<OutsideScore> scores;  ///< by OutsideDetector
};

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
  ExaminedItems inside;
  ExaminedItems outside;
  std::vector<Separation> results;  ///< compare(inside.scores, outside.scores)
  std::string how_recommended;      ///< OutsideDetector::how_recommended
  std::string bound{};              ///< Scores::describe of the bound on -log p
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
Figure score_histogram(const OutsideScore& inside, const OutsideScore& outside);

/// Writes scores.csv, auroc.csv, report.html and, for images, items.png (a row of inside and a row of outside items)
/// and oddest.png (the oddest items of both, each row above the nats of its pixels) into an existing folder. `plotly`
/// is the path of plotly.min.js.
void write_outside_report(const std::filesystem::path& folder, const OutsideReport& report,
                          const std::filesystem::path& plotly);

/// One line per item: set (inside or outside), its number in the source (of a table, its row), standard error of the
/// nats, every score.
void write_scores_csv(std::ostream& out, const ExaminedItems& inside, const ExaminedItems& outside);

/// One line per score: its family, AUROC with interval, AUROC if reversed, false positive rate at 95% recall with
/// interval, and the lead of the recommended score's AUROC over its better direction, with interval.
void write_auroc_csv(std::ostream& out, const std::vector<Separation>& results);

/// The same for display.
TextTable auroc_table(const std::vector<Separation>& results);

}  // namespace segre
