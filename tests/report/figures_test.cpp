#include "segre/report/figures.h"

#include <cmath>

#include "segre/sources/toys.h"
#include "segre/space/blocks.h"
#include "tests/support/support.h"

namespace segre::figures_test {
namespace {

// Coordinates in charts are rounded to 4 decimals.
constexpr double kRounded = 1e-4;

const nlohmann::json& named(const Figure& figure, const std::string& name) {
  for (const auto& trace : figure.traces)
    if (trace.value("name", "").starts_with(name)) return trace;
  throw Error("no trace " + name);
}

TEST(Tetrahedron, TheTargetLiesAtTheMeanOfItsCorners) {
  const Figure figure = tetrahedron(coupled_binary());
  // (1,1,1) .45 + (1,-1,-1) .05 + (-1,1,-1) .05 + (-1,-1,1) .45
  const auto& target = named(figure, "target");
  EXPECT_NEAR(target["x"][0].get<double>(), 0.0, kRounded);
  EXPECT_NEAR(target["y"][0].get<double>(), 0.0, kRounded);
  EXPECT_NEAR(target["z"][0].get<double>(), 0.8, kRounded);
}

TEST(Tetrahedron, TheFirstVariableIsTheFirstNumberOfACorner) {
  const Space space = coupled_binary().space;
  // All of it at y1 = 0, y2 = 1: the corner (0,1).
  const JointTable table = make_joint_table(space, torch::tensor({{0, 1}}, torch::kInt64), torch::ones({1}));
  const Figure figure = tetrahedron(table);
  const auto& target = named(figure, "target");
  EXPECT_NEAR(target["x"][0].get<double>(), 1.0, kRounded);
  EXPECT_NEAR(target["y"][0].get<double>(), -1.0, kRounded);
  EXPECT_NEAR(target["z"][0].get<double>(), -1.0, kRounded);
}

TEST(Tetrahedron, EverySurfacePointFactorises) {
  // In these coordinates p factorises exactly where z = x y: p00 p11 = p01 p10.
  const Figure figure = tetrahedron(coupled_binary());
  const auto& surface = named(figure, "factorising");
  for (size_t i = 0; i < surface["x"].size(); ++i)
    for (size_t j = 0; j < surface["x"][i].size(); ++j)
      EXPECT_NEAR(surface["z"][i][j].get<double>(), surface["x"][i][j].get<double>() * surface["y"][i][j].get<double>(),
                  4 * kRounded);
}

TEST(Tetrahedron, CurvesAreCountedByTheCornerTheyEndIn) {
  // Two curves of two times: one ends at (0,0), one at (1,0).
  auto v = torch::zeros({2, 2, 4});
  v[1][0] = torch::tensor({9.0f, -9.0f, 9.0f, -9.0f});
  v[1][1] = torch::tensor({-9.0f, 9.0f, 9.0f, -9.0f});
  const Figure figure = tetrahedron_with_flow(coupled_binary(), v);
  EXPECT_EQ(named(figure, "ends in (0,0)")["name"], "ends in (0,0): 1 of 2");
  const auto& curve = named(figure, "ends in (1,0)");
  ASSERT_EQ(curve["x"].size(), 3u);  // two points and the gap after them
  EXPECT_NEAR(curve["x"][0].get<double>(), 0.0, kRounded);
  EXPECT_NEAR(curve["x"][1].get<double>(), -1.0, kRounded);
  EXPECT_NEAR(curve["y"][1].get<double>(), 1.0, kRounded);
}

TEST(Histograms, PutTheFirstVariableAlongX) {
  const Space space = Space::table({{"x", 3, {}}, {"y", 2, {}}});
  const JointTable table =
      make_joint_table(space, torch::tensor({2, 1, 0, 0}, torch::kInt64).view({2, 2}), torch::tensor({0.75, 0.25}));
  LabelingCounts counts(space);
  counts.add(torch::tensor({2, 1}, torch::kInt64).view({1, 2}));
  const Figure figure = histograms(table, counts);
  EXPECT_EQ(figure.traces[0]["z"], (nlohmann::json{{0.25, 0.0, 0.0}, {0.0, 0.0, 0.75}}));
  EXPECT_EQ(figure.traces[1]["z"], (nlohmann::json{{0.0, 0.0, 0.0}, {0.0, 0.0, 1.0}}));
  EXPECT_EQ(figure.traces[0]["zmax"], figure.traces[1]["zmax"]);
}

}  // namespace
}  // namespace segre::figures_test
