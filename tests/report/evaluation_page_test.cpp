#include "segre/report/evaluation_page.h"

#include <sstream>

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/io/png.h"
#include "segre/report/evaluation_figures.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"

namespace segre::evaluation_page_test {
namespace {

using test::contains;
using test::ScratchFolder;

EvaluationData images() {
  const Space space = Space::image(3, 4, 2);
  const auto train = test::some_labels(space, 50, 1);
  return {space, test::some_labels(space, 30, 2), test::some_labels(space, 40, 3), train, 50, nullptr};
}

TEST(EvaluationPage, WritesMetricsReportAndNeighbours) {
  const ScratchFolder folder;
  test::write_text(folder / "plotly.js", "var Plotly;");
  const auto data = images();
  const auto found = evaluate(data, {});
  const Page page = evaluation_page(data, found, "The title", {"What was done."});
  write_evaluation(folder.path(), data, found, page, folder / "plotly.js");
  const std::string html = read_file(folder / "report.html");
  for (const char* part :
       {"The title", "What was done.", "exact copies of training items", "as reference", "data:image"})
    EXPECT_TRUE(contains(html, part));
  EXPECT_EQ(page.n_charts(), 3);  // maps, shares, distances
  EXPECT_EQ(read_csv(folder / "metrics.csv").size(), found.metrics.size() + 1);
  EXPECT_EQ(read_csv(folder / "neighbours.csv").size(), 30U * 5 + 1);
  EXPECT_GT(read_png(folder / "neighbours.png").width, 12 * 4);
}

TEST(EvaluationPage, NeighboursOfATableShowTheLabels) {
  const Space space = Space::table({{"sky", 2, {"rain", "sun"}}, {"wind", 2, {"no", "yes"}}});
  const auto train = torch::tensor({{0, 0}, {1, 1}}, torch::kInt64);
  EvaluationData data{space, torch::tensor({{1, 1}, {1, 0}}, torch::kInt64), train, train, 2, nullptr};
  std::ostringstream out;
  write_neighbours_csv(out, data, evaluate(data, {.neighbours = 2}));
  EXPECT_EQ(out.str(),
            "sample,rank,distance,train_item,mirrored,sky,wind\n"
            "0,0,0,,,sun,yes\n0,1,0,1,no,sun,yes\n0,2,2,0,no,rain,no\n"
            "1,0,0,,,sun,no\n1,1,1,0,no,rain,no\n1,2,1,1,no,sun,yes\n");
}

TEST(EvaluationPage, MirrorImagesAreToldApart) {
  auto data = images();
  data.train = torch::cat({data.train, data.train.view({-1, 3, 4}).flip({2}).reshape({-1, 12})});
  data.samples = data.train.slice(0, 60, 62);  // mirror images of items 10 and 11
  std::ostringstream out;
  write_neighbours_csv(out, data, evaluate(data, {.neighbours = 1}));
  EXPECT_TRUE(contains(out.str(), "\n0,1,0,10,yes\n"));
}

TEST(NearestDistances, AreSharesThatSumToOne) {
  const auto data = images();
  const Figure figure = nearest_distances(evaluate(data, {}));
  for (const auto& trace : figure.traces) {
    double sum = 0.0;
    for (const auto& share : trace["y"]) sum += share.get<double>();
    EXPECT_NEAR(sum, 1.0, 1e-3);  // each of them is rounded to 1e-5
  }
}

TEST(MarginalMaps, ShowEachPixelWhereItIs) {
  auto data = images();
  data.samples.zero_();
  data.samples.select(1, 1 * 4 + 2).slice(0, 0, 15).fill_(1);  // row 1, column 2, half of the samples
  const Figure figure = marginal_maps(data.space, evaluate(data, {}).marginals, 0);
  EXPECT_EQ(figure.traces[0]["z"][1][2], 0.5);
  EXPECT_EQ(figure.traces[0]["z"][2][1], 0.0);
  const double held_out = figure.traces[1]["z"][1][2].get<double>();
  EXPECT_NEAR(figure.traces[2]["z"][1][2].get<double>(), 0.5 - held_out, 2e-5);
}

TEST(NeighbourPicture, PutsEachSampleInARedFrameBeforeItsNeighbours) {
  const auto data = images();
  const auto found = evaluate(data, {});
  const auto chosen = torch::tensor({3, 0}, torch::kInt64);
  const Picture picture = neighbour_picture(data, found, chosen);
  std::vector<torch::Tensor> rows;
  for (const int64_t sample : {3, 0}) {
    rows.push_back(data.samples[sample]);
    for (int64_t k = 0; k < 5; ++k) rows.push_back(data.train[found.of_samples.row[sample][k].item<int64_t>()]);
  }
  const Picture plain = draw_label_grid(data.space, torch::stack(rows), 12);
  ASSERT_EQ(picture.width, plain.width);
  int64_t n_red = 0;
  for (size_t k = 0; k < plain.pixels.size(); ++k) {
    const Rgb& colour = picture.pixels[k];
    if (colour[0] > 200 && colour[1] < 100) {
      ++n_red;
    } else {
      EXPECT_EQ(colour, plain.pixels[k]);
    }
  }
  EXPECT_GT(n_red, 0);
  EXPECT_EQ(picture.pixels[0], (Rgb{220, 30, 30}));
  EXPECT_NE(picture.pixels[static_cast<size_t>(picture.width - 1)], (Rgb{220, 30, 30}));
}

}  // namespace
}  // namespace segre::evaluation_page_test
