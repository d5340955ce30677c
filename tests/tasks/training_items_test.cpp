#include "segre/tasks/training_items.h"

#include <set>

#include "segre/sources/source_kinds.h"
#include "tests/runs/trained.h"
#include "tests/support/heard_log.h"
#include "tests/support/messages.h"

namespace segre::training_items_test {
namespace {

using test::contains;
using test::ScratchFolder;

constexpr int64_t kItems = 200;

class TrainingItems : public testing::Test {
 protected:
  void SetUp() override {
    write(0);
    Experiment e = test::tiny_experiment();
    e.data = "csv:" + table().string();
    e.holdout = 0.1;
    test::train_into(folder_ / "run", e);
  }

  // A table whose rows are all different, starting with row `first`.
  void write(int64_t first) const {
    std::string text = "a,b,c\n";
    for (int64_t k = 0; k < kItems; ++k) {
      const int64_t row = (first + k) % 216;
      text += concat("a", row % 6, ",b", row / 6 % 6, ",c", row / 36, '\n');
    }
    test::write_text(table(), text);
  }

  std::filesystem::path table() const { return folder_ / "t.csv"; }
  LoadedRun run() const { return load_run(folder_ / "run", torch::kCPU); }
  ScratchFolder folder_;
};

std::set<std::vector<int64_t>> rows_of(const torch::Tensor& labels) {
  std::set<std::vector<int64_t>> rows;
  for (int64_t k = 0; k < labels.size(0); ++k) {
    const auto row = labels[k].to(torch::kInt64).contiguous();
    rows.emplace(row.const_data_ptr<int64_t>(), row.const_data_ptr<int64_t>() + row.numel());
  }
  return rows;
}

TEST_F(TrainingItems, AndHeldOutItemsAreAllItems) {
  const RunItems items = open_run_items(run());
  const auto learned = rows_of(all_labels(*items.learned));
  const auto held_out = rows_of(items.held_out);
  EXPECT_EQ(rows_of(all_labels(*open_training_items(run()))), learned);
  EXPECT_EQ(learned.size(), 180U);
  EXPECT_EQ(held_out.size(), 20U);
  for (const auto& row : held_out) EXPECT_FALSE(learned.contains(row));
}

TEST_F(TrainingItems, AreRefusedIfTheFileWasOverwritten) {
  write(7);
  EXPECT_TRUE(contains(test::input_error([&] { open_training_items(run()); }),
                       table().string() + " has changed since the run learned from it"));
  EXPECT_TRUE(contains(test::input_error([&] { open_run_items(run()); }), "has changed since the run"));
  test::HeardLog log;
  const auto other = open_run_items(run(), std::shared_ptr<DataSource>(open_source("csv:" + table().string())));
  EXPECT_FALSE(other.held_out.defined()) << "data in memory that are others";
  EXPECT_TRUE(contains(log.text(), "note: the training data in memory have changed"));
  // Data that the user names are taken as they are.
  EXPECT_EQ(open_training_items(run(), "csv:" + table().string())->n_items(), kItems);
}

// Whoever moves a file should not lose the held-out rows by naming it.
TEST_F(TrainingItems, AreDividedAsBeforeIfTheFileWasMoved) {
  const RunItems before = open_run_items(run());
  const auto moved = folder_ / "moved.csv";
  std::filesystem::rename(table(), moved);
  const RunItems after = open_run_items(run(), "csv:" + moved.string());
  EXPECT_TRUE(torch::equal(after.held_out, before.held_out));
  EXPECT_EQ(rows_of(all_labels(*after.learned)), rows_of(all_labels(*before.learned)));
  std::filesystem::rename(moved, table());
  write(7);
  const RunItems other = open_run_items(run(), "csv:" + table().string());
  EXPECT_FALSE(other.held_out.defined());
  EXPECT_EQ(other.learned->n_items(), kItems) << "other data are taken as they are";
}

}  // namespace
}  // namespace segre::training_items_test
