#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// A number for each item, added one after the other. Only where the count does not simply go on something is stored,
/// so that the line numbers of a file without blank lines take no memory.
class ItemNumbers {
 public:
  void add(int64_t number);
  int64_t size() const { return size_; }
  int64_t operator[](int64_t item) const;
  /// How many runs of consecutive numbers there are: what is stored.
  int64_t n_runs() const { return static_cast<int64_t>(runs_.size()); }

 private:
  int64_t size_ = 0;
  std::vector<std::pair<int64_t, int64_t>> runs_;  // the first item of each run and its number
};

/// Where the items of a dataset were read, for messages; nowhere in particular unless a reader says so.
class Origin {
 public:
  Origin() = default;
  /// Items on the lines of a file: "t.csv:17".
  static Origin lines(std::string file, ItemNumbers lines);
  /// Items of one file, counted from 0: "x.npy: item 3".
  static Origin items(std::string file, ItemNumbers numbers);
  /// A file for each item: "maps/a.png".
  static Origin files(std::vector<std::string> files);

  /// Where an item was read; "" if nothing is known.
  std::string place(int64_t item) const;
  /// Of the items that `rows` [K] int64 chooses.
  Origin select(const torch::Tensor& rows) const;

 private:
  enum class Kind { unknown, line, item, file };
  Origin(Kind kind, std::vector<std::string> files, ItemNumbers numbers);

  Kind kind_ = Kind::unknown;
  std::shared_ptr<const std::vector<std::string>> files_;  // one, or one per item
  ItemNumbers numbers_;
};

}  // namespace segre
