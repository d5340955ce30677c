#include "segre/recipes/training_data.h"
#include "segre/net/latent_class.h"
#include "segre/net/net_kinds.h"
#include "segre/path/e_geodesic.h"
#include "segre/runs/data_fingerprint.h"
#include "segre/sources/source_kinds.h"
#include "segre/train/trainer.h"

#include <set>

#include "tests/support/datasets.h"
#include "tests/support/mapped.h"
#include "tests/support/messages.h"
#include "tests/support/threads.h"

namespace segre::training_data_test {
namespace {

using test::input_error;
using test::numbered_rows;

const Space kSpace = Space::image(2, 3, 5);

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
  EXPECT_TRUE(message.starts_with("data.validation = mixture: ")) << message;
  e.validation = "glyphs";
  EXPECT_EQ(
      input_error([&] { open_training_data(e, nullptr); }),
      "data.validation = glyphs: image of 28x28 variables with 2 labels each, expected table of 2 variables with 2 "
      "labels each");
}

// They could not be written to the run's config.
TEST(TrainingData, NamesThatAreNotUtf8AreRefused) {
  Experiment e;
  e.data = "csv:caf\xe9.csv";
  EXPECT_EQ(input_error([&] { open_training_data(e, nullptr); }),
            "data.source = csv:caf\\xe9.csv: is not UTF-8, as the config that a run keeps must be; rename the file");
  e.data = "coupled";
  e.validation = "csv:\xff";
  EXPECT_TRUE(test::contains(input_error([&] { open_training_data(e, nullptr); }), "data.validation = csv:\\xff: "));
}

class ValidationFile : public testing::Test {
 protected:
  // Opens a run on a table with this many items of another held out.
  TrainingData open(const std::string& train, const std::string& valid, int64_t items,
                    const std::string& options = "") {
    test::write_text(folder_ / "train.csv", train);
    test::write_text(folder_ / "valid.csv", valid);
    Experiment e;
    e.data = "csv:" + (folder_ / "train.csv").string() + options;
    e.validation = "csv:" + (folder_ / "valid.csv").string();
    e.watch.items = items;
    return open_training_data(e, nullptr);
  }
  test::ScratchFolder folder_;
};

TEST_F(ValidationFile, LabelsAreMatchedByName) {
  // Alone, the second file would call its b 0 and its c 1.
  const auto data = open("x\na\nb\nc\n", "x\nb\nc\nb\n", 10);
  EXPECT_TRUE(torch::equal(data.held_out, torch::tensor({{1}, {2}, {1}}, torch::kInt64)));
}

TEST_F(ValidationFile, ALabelThatTrainingNeverSawIsNamedWithFileAndLine) {
  EXPECT_EQ(
      input_error([&] { open("x,y\na,0\nb,1\n", "x,y\nb,0\nb,1\n\nc,0\n", 10); }),
      (folder_ / "valid.csv").string() +
          ":5: column x has the label 'c', which training never saw; it has a, b (if it can occur, train with it "
          "declared: labels= or dictionary= of csv:, a row with p = 0 of joint:); unseen=skip leaves such rows out");
}

TEST_F(ValidationFile, ADeclaredLabelMayOccurThereOnly) {
  const auto data = open("x\n0\n0\n", "x\n1\n0\n", 10, "?labels=0|1");
  EXPECT_EQ(data.source->space().n_labels(0), 2);
  EXPECT_TRUE(torch::equal(data.held_out, torch::tensor({{1}, {0}}, torch::kInt64)));
}

TEST_F(ValidationFile, ItemsAreDrawnFromTheWholeFileTheSameOnesEveryTime) {
  std::string sorted = "x\n";
  for (int k = 0; k < 100; ++k) sorted += concat("k", k / 2 + 10, "\n");
  const auto held_out = open(sorted, sorted, 30).held_out;
  EXPECT_EQ(held_out.size(0), 30);
  EXPECT_GE(held_out.max().item<int64_t>(), 25) << "the first thirty rows have 0 to 14";
  EXPECT_LT(held_out.min().item<int64_t>(), 25);
  EXPECT_TRUE(torch::equal(held_out, open(sorted, sorted, 30).held_out));
  EXPECT_EQ(open(sorted, sorted, 1000).held_out.size(0), 100) << "all there are";
}

TEST_F(ValidationFile, WhatWasLearnedIsAllOfTheDataWhereTheyAreGoneTheDataStillOpen) {
  test::write_text(folder_ / "train.csv", "x\na\nb\n");
  Experiment e;
  e.data = "csv:" + (folder_ / "train.csv").string();
  e.validation = "csv:/nowhere/gone.csv";
  EXPECT_EQ(open_learned_items(e, open_source(e.data)->space())->n_items(), 2);
}

TEST(LearnedItems, AreThoseThatTrainingSawWithoutTheHeldOut) {
  const test::ScratchFolder folder;
  std::string text = "x,y\n";
  for (int k = 0; k < 400; ++k) text += concat(k / 20, ",", k % 20, "\n");  // all different
  test::write_text(folder / "t.csv", text);
  Experiment e;
  e.data = "csv:" + (folder / "t.csv").string();
  const auto data = open_training_data(e, nullptr);
  const auto learned = open_learned_items(e, data.source->space());
  EXPECT_EQ(learned->n_items(), 380);
  EXPECT_TRUE(torch::equal(learned->dataset()->labels, data.source->dataset()->labels));
  e.data = "coupled";
  EXPECT_EQ(open_learned_items(e, open_source(e.data)->space())->n_items(), 0);
}

// Labels in a mapped file, which are not copied, and the same ones in memory.
class MappedData : public testing::Test {
 protected:
  static TrainingData open(bool map) {
    Dataset dataset = numbered_rows(kSpace, 400);
    dataset.mirror = true;
    return open_training_data({}, make_dataset_source(map ? test::mapped(dataset) : dataset));
  }
  // The state after a few steps on data.source.
  static NamedTensors train(const TrainingData& data) {
    NetOptions net;
    net.kind = "latent_class";
    net.of<LatentClassOptions>().classes = 4;
    TrainOptions options;
    options.batch = 64;
    Trainer trainer({kSpace, make_e_geodesic(0.01), Form::evidence, make_field(kSpace, net, 5)}, *data.source, options,
                    5);
    for (int k = 0; k < 10; ++k) trainer.step();
    return trainer.state();
  }
  const TrainingData mapped_ = open(true);
  const TrainingData in_memory_ = open(false);
};

TEST_F(MappedData, AreHeldOutAndTrainedOnLikeThoseInMemory) {
  EXPECT_TRUE(torch::equal(mapped_.held_out, in_memory_.held_out));
  EXPECT_EQ(mapped_.source->n_items(), 380);
  const RandomStream random{1, Purpose::training_data};
  for (const uint64_t first : {0, 333, 379, 1'000'000})
    EXPECT_TRUE(torch::equal(mapped_.source->items(random, first, 500), in_memory_.source->items(random, first, 500)));
  EXPECT_TRUE(torch::equal(mapped_.source->rows(0, 380), in_memory_.source->rows(0, 380)));
}

TEST_F(MappedData, TrainToTheSameBits) {
  const test::Threads one_thread(1);
  const auto found = train(mapped_);
  const auto expected = train(in_memory_);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(torch::equal(found.at(name), tensor)) << name;
}

TEST_F(MappedData, HaveTheFingerprintOfThoseInMemory) {
  const Dataset dataset = numbered_rows(kSpace, 400);
  const auto print = [&](const Dataset& labels, const TrainingData& data) {
    return fingerprint_of(*make_dataset_source(labels), "npy:x.npy", "", data.held_out);
  };
  EXPECT_EQ(print(test::mapped(dataset), mapped_), print(dataset, in_memory_));
}

TEST_F(MappedData, WithoutHeldOutItemsStayOneTensor) {
  Experiment e;
  e.holdout = 0.0;
  const auto data = open_training_data(e, make_dataset_source(test::mapped(numbered_rows(kSpace, 400))));
  ASSERT_NE(data.source->dataset(), nullptr);
  EXPECT_EQ(data.source->n_items(), 400);
}

// Same numbers of variables and coordinates, different labels per variable.
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
}  // namespace segre::training_data_test
