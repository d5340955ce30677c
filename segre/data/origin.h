#pragma once  // internal

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// A number for each item, added one by one. Only the start of each run of consecutive numbers is stored, so the line
/// numbers of a file without blank lines take almost no memory.
class ItemNumbers {
 public:
  /// The start of a run of consecutive numbers: its first item, and the number of that item.
  using Run = std::pair<int64_t, int64_t>;

  ItemNumbers() = default;
  /// 0, 1, ..., count - 1.
  static ItemNumbers up_to(int64_t count);
  /// The numbers of `size` items stored as runs(). The first run starts at item 0, and their items ascend.
  ItemNumbers(int64_t size, std::vector<Run> runs) : size_(size), runs_(std::move(runs)) {}

  void add(int64_t number);
  int64_t size() const { return size_; }
  int64_t operator[](int64_t item) const;
  /// The number of runs of consecutive numbers, which is what is stored.
  int64_t n_runs() const { return static_cast<int64_t>(runs_.size()); }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  int64_t size_ = 0;
  std::vector<Run> runs_;
};

/// Where the items of a dataset were read, for messages; unknown unless a reader sets it.
class Origin {
 public:
  Origin() = default;
  /// Items on the lines of a file: "t.csv:17".
  static Origin lines(std::string file, ItemNumbers lines);
  /// Items of one file, counted from 0: "x.npy: item 3".
  static Origin items(std::string file, ItemNumbers numbers);
  /// Rows of a table in memory, counted from 0: "DataFrame: row 3".
  static Origin rows(std::string table, ItemNumbers numbers);
  /// One file per item: "maps/a.png".
  static Origin files(std::vector<std::string> files);

  /// Where an item was read; "" if unknown.
  std::string place(int64_t item) const;
  /// The number of each item: its line, its row, its item or its file. Empty if unknown.
  const ItemNumbers& numbers() const { return numbers_; }
  /// The origin of the items chosen by `rows` [K] int64.
  Origin select(const torch::Tensor& rows) const;

 private:
  enum class Kind { unknown, line, item, row, file };
  Origin(Kind kind, std::vector<std::string> files, ItemNumbers numbers);

  Kind kind_ = Kind::unknown;
  std::shared_ptr<const std::vector<std::string>> files_;  // one, or one per item
  ItemNumbers numbers_;
};

}  // namespace segre
