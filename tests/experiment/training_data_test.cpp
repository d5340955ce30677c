#include "segre/experiment/training_data.h"

#include <set>

#include "tests/support/datasets.h"
#include "tests/support/messages.h"

namespace segre {
namespace {

using test::input_error;
using test::numbered_rows;

const Space kSpace = Space::uniform(Layout::image, {2, 3}, 5);

std::set<std::vector<int64_t>> rows_of(const torch::Tensor& labels) {
  std::set<std::vector<int64_t>> out;
  for (int64_t r = 0; r < labels.size(0); ++r) {
    const auto row = labels[r].contiguous();
    out.emplace(row.data_ptr<int64_t>(), row.data_ptr<int64_t>() + row.numel());
  }
  return out;
}

TEST(TrainingData, HeldOutItemsAreNotTrainedOn) {
  Experiment e;
  const TrainingData data = open_training_data(e, make_dataset_source(numbered_rows(kSpace, 400)));
  EXPECT_EQ(data.held_out.size(0), 20);  // a twentieth
  EXPECT_EQ(data.held_out.scalar_type(), torch::kInt64);
  EXPECT_EQ(data.source->n_items(), 380);
  auto all = rows_of(data.source->items({1, Purpose::training_data}, 0, 2 * 380));
  EXPECT_EQ(all.size(), 380u);
  all.merge(rows_of(data.held_out));
  EXPECT_EQ(all.size(), 400u);
}

TEST(TrainingData, AreTheSameEveryTime) {
  const auto open = [] { return open_training_data({}, make_dataset_source(numbered_rows(kSpace, 400))); };
  EXPECT_TRUE(torch::equal(open().held_out, open().held_out));
}

TEST(TrainingData, NoMoreAreHeldOutThanWatched) {
  Experiment e;
  e.watch.items = 9;
  const TrainingData data = open_training_data(e, make_dataset_source(numbered_rows(kSpace, 400)));
  EXPECT_EQ(data.held_out.size(0), 9);
  EXPECT_EQ(data.source->n_items(), 391);
}

TEST(TrainingData, NothingIsHeldOutOfAFewItemsOrWhereNoneIsWanted) {
  Experiment e;
  EXPECT_FALSE(open_training_data(e, make_dataset_source(numbered_rows(kSpace, 100))).held_out.defined());
  e.holdout = 0.0;
  const TrainingData data = open_training_data(e, make_dataset_source(numbered_rows(kSpace, 1000)));
  EXPECT_FALSE(data.held_out.defined());
  EXPECT_EQ(data.source->n_items(), 1000);
}

TEST(TrainingData, MirroredImagesStaySo) {
  auto dataset = numbered_rows(kSpace, 400);
  dataset.mirror = true;
  EXPECT_TRUE(open_training_data({}, make_dataset_source(dataset)).source->dataset()->mirror);
}

TEST(TrainingData, SourcesWithoutEndDrawFromAnotherStream) {
  Experiment e;
  e.data = "pinwheel";
  e.watch.items = 100;
  const TrainingData data = open_training_data(e, nullptr);
  EXPECT_EQ(data.held_out.size(0), 100);
  EXPECT_EQ(data.source->n_items(), 0);
  EXPECT_FALSE(torch::equal(data.held_out, data.source->items({0, Purpose::training_data}, 0, 100)));
}

TEST(TrainingData, ValidationDataAreHeldOutAsTheyAre) {
  Experiment e;
  e.data = "coupled";
  e.validation = "coupled";
  e.watch.items = 30;
  const TrainingData data = open_training_data(e, nullptr);
  EXPECT_TRUE(torch::equal(data.held_out, open_source("coupled")->rows(0, 30)));
}

TEST(TrainingData, ValidationDataOfAnotherSpaceAreRefused) {
  Experiment e;
  e.data = "coupled";
  e.validation = "mixture";
  const auto message = input_error([&] { open_training_data(e, nullptr); });
  EXPECT_TRUE(message.starts_with("data.validation = mixture is a ")) << message;
  EXPECT_TRUE(test::contains(message, ", data.source is a "));
}

// Same number of variables and of coordinates, other labels per variable.
TEST(TrainingData, ValidationDataWithOtherLabelCountsAreRefused) {
  const test::ScratchFolder folder;
  test::write_text(folder / "a.csv", "x,y,p\n0,0,0.5\n1,1,0.25\n1,2,0.25\n");
  test::write_text(folder / "b.csv", "x,y,p\n0,0,0.5\n1,1,0.25\n2,1,0.25\n");
  Experiment e;
  e.data = "joint:" + (folder / "a.csv").string();
  e.validation = "joint:" + (folder / "b.csv").string();
  EXPECT_NE(input_error([&] { open_training_data(e, nullptr); }), "");
}

}  // namespace
}  // namespace segre
