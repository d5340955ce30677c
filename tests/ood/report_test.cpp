#include "segre/ood/report.h"

#include "segre/core/text.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"

namespace segre::report_test {
namespace {

using test::contains;
using test::ScratchFolder;

// Items with made-up nats: inside 10, outside 20, with some scatter.
OutsideReport made_up(const Space& space, int64_t count) {
  const auto counts = torch::ones({space.n_coordinates()}, torch::kInt64);
  const auto nats = [&](double mean, uint64_t seed) { return mean + test::noise({count}, seed); };
  const auto train = test::some_labels(space, count, 1);
  const OutsideDetector scores(space, counts, train, nats(10.0, 2));
  const auto set = [&](const char* source, double mean, uint64_t seed) {
    const auto labels = test::some_labels(space, count, seed);
    const auto own = nats(mean, seed);
    return ExaminedItems{source,
                         5 * torch::arange(count),
                         labels,
                         own,
                         0.1 * torch::ones({count}, torch::kFloat64),
                         scores(labels, own)};
  };
  OutsideReport report{space, "runs/x", set("a&b", 10.0, 3), set("other", 20.0, 4), {}, scores.how_recommended()};
  report.results = compare(report.inside.scores, report.outside.scores);
  return report;
}

void write(const ScratchFolder& folder, const OutsideReport& report) {
  test::write_text(folder / "plotly.js", "");
  write_outside_report(folder.path(), report, folder / "plotly.js");
}

TEST(OutsideReport, ScoresHaveALineForEveryItem) {
  const ScratchFolder folder;
  const OutsideReport report = made_up(Space::image(4, 4, 2), 12);
  write(folder, report);
  const auto rows = read_csv(folder / "scores.csv");
  ASSERT_EQ(rows.size(), 25U);
  EXPECT_EQ(rows[0].fields[0], "set");
  EXPECT_EQ(rows[0].fields[3], "recommended");
  EXPECT_EQ(rows[0].fields[4], "nats");
  EXPECT_EQ(rows[1].fields[0], "inside");
  EXPECT_EQ(rows[13].fields[0], "outside");
  EXPECT_EQ(rows[13].fields[1], "0");
  EXPECT_EQ(rows[14].fields[1], "5") << "numbers in the source";
  EXPECT_NEAR(std::stod(rows[13].fields[4]), report.outside.nats[0].item<double>(), 1e-6);
}

TEST(OutsideReport, TheTableHasALineForEveryScore) {
  const ScratchFolder folder;
  const OutsideReport report = made_up(Space::image(4, 4, 2), 12);
  write(folder, report);
  const auto rows = read_csv(folder / "auroc.csv");
  ASSERT_EQ(rows.size(), report.results.size() + 1);
  EXPECT_EQ(rows[2].fields[0], "nats");
  EXPECT_EQ(rows[2].fields[1], "bound");
  EXPECT_EQ(rows[2].fields[2], "1") << "ten standard deviations apart";
  EXPECT_EQ(rows[2].fields[6], "0");
  EXPECT_EQ(rows[0].fields,
            (std::vector<std::string>{"score", "family", "auroc", "low", "high", "auroc_reversed", "fpr95", "fpr95_low",
                                      "fpr95_high", "lead", "lead_low", "lead_high", "name"}));
  const Separation& last = report.results.back();
  EXPECT_NEAR(std::stod(rows.back().fields[8]), last.roc.fpr95_high, 1e-8);
  EXPECT_NEAR(std::stod(rows.back().fields[10]), last.lead.low, 1e-8);
  EXPECT_EQ(rows.back().fields[12], last.name);
}

TEST(OutsideReport, ThePageShowsVerdictTableChartsAndItems) {
  const ScratchFolder folder;
  const OutsideReport report = made_up(Space::image(4, 4, 2), 12);
  write(folder, report);
  const std::string html = read_file(folder / "report.html");
  EXPECT_TRUE(contains(html, "The recommended score (AUROC 1.0000) beats every baseline"));
  EXPECT_TRUE(contains(html, "Raw likelihood misleads"));
  EXPECT_TRUE(contains(html, "inside: 12 items of a&amp;b; outside: 12 items of other"));
  EXPECT_TRUE(contains(html, "id=\"chart1\"")) << "two histograms";
  // Bits per variable of the first item shown.
  EXPECT_TRUE(
      contains(html, concat("<figcaption>", fixed(report.inside.nats[0].item<double>() / (16.0 * 0.693147), 3))));
  EXPECT_TRUE(read_file(folder / "items.png").starts_with("\x89PNG"));
}

TEST(OutsideReport, ATableHasNoPictures) {
  const ScratchFolder folder;
  write(folder, made_up(test::mixed_space(), 12));
  EXPECT_FALSE(std::filesystem::exists(folder / "items.png"));
  const std::string html = read_file(folder / "report.html");
  EXPECT_EQ(html.find("<figure>"), std::string::npos);
  EXPECT_EQ(html.find("Raw likelihood misleads"), std::string::npos) << "rows have no thin strokes";
  EXPECT_EQ(html.find("compressed"), std::string::npos);
  EXPECT_TRUE(contains(html, "how surprising the combination is"));
  EXPECT_TRUE(contains(html, "The recommended score, in nats."));
}

TEST(OutsideReport, HistogramsHaveAllItemsOnCommonBins) {
  const OutsideScore inside{"x", "x", OutsideScore::Family::bound, torch::tensor({0.0, 0.1, 3.0}, torch::kFloat64)};
  const OutsideScore outside{"x", "x", OutsideScore::Family::bound, torch::tensor({6.0, 5.75}, torch::kFloat64)};
  const Figure figure = score_histogram(inside, outside);
  EXPECT_EQ(figure.traces[0]["x"], figure.traces[1]["x"]);
  double sum = 0.0;
  for (const auto& share : figure.traces[0]["y"]) sum += share.get<double>();
  EXPECT_NEAR(sum, 1.0, 1e-12);
  EXPECT_NEAR(figure.traces[1]["y"].back().get<double>(), 0.5, 1e-12) << "the largest lies in the last bin, of 0.1";
  EXPECT_NEAR(figure.traces[0]["x"].front().get<double>(), 0.05, 1e-12) << "bars stand at the middle of their bins";
  EXPECT_NEAR(figure.traces[0]["x"].back().get<double>(), 5.95, 1e-12);
}

TEST(OutsideTable, IsAlignedAndShowsWhatPointsBackwards) {
  const TextTable table =
      auroc_table({{"k", "short", OutsideScore::Family::baseline, {0.137, 0.1, 0.2, 0.5, 0.41, 0.6}, {}},
                   {"l", "a longer name", OutsideScore::Family::ratio, {0.99, 0.98, 1.0, 0.01, 0, 0.02}, {}}});
  EXPECT_EQ(table.rows[0][2], "0.1370 (0.8630 reversed)");
  EXPECT_EQ(aligned(table),
            "score            family                     AUROC      95% interval       FPR at 95% recall\n"
            "short          baseline  0.1370 (0.8630 reversed)  0.1000 to 0.2000  0.500 (0.410 to 0.600)\n"
            "a longer name     ratio                    0.9900  0.9800 to 1.0000  0.010 (0.000 to 0.020)\n");
}

}  // namespace
}  // namespace segre::report_test
