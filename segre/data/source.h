#pragma once

#include <memory>
#include <string>

#include "segre/data/dataset.h"
#include "segre/data/joint_table.h"

namespace segre {

/// Where data come from: items of labels in a space, addressed by number so that any batch can be had again. A program
/// may bring its own: what it gives to training is looked at batch by batch.
class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual const Space& space() const = 0;
  /// How many items there are; 0: drawn or generated without end.
  virtual int64_t n_items() const = 0;
  /// Items first ... first + count - 1 in the source's own order: [count, n] int64.
  virtual torch::Tensor rows(int64_t first, int64_t count) const = 0;
  /// What training sees: items first_item ... of an endless stream, [count, n] int64. A finite source gives every item
  /// once per epoch, in an order of its own each time; the others draw.
  virtual torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const = 0;
  /// Where an item was read, for messages: "t.csv:17"; "" if it was not read from a file.
  virtual std::string place(int64_t /*item*/) const { return {}; }
  /// The items where they are held in memory, so that they can move to a GPU; else nullptr.
  virtual const Dataset* dataset() const { return nullptr; }
  /// The exact distribution, where it is known; else nullptr.
  virtual const JointTable* joint() const { return nullptr; }
};

/// Opens a source named as on the command line; InputError lists the kinds and options there are.
std::unique_ptr<DataSource> open_source(const std::string& name);

/// A source that draws from a known joint distribution. InputError where it is none: see check_joint.
std::unique_ptr<DataSource> make_joint_source(JointTable table);

/// A source of items in memory. The labels may be of any integer type: they are looked at here, once, and kept as
/// label_type(space), without a copy where they are so already. InputError names item, variable and value where a label
/// lies outside [0, c_i), the shape where it is not [N, n], or says that there is no item or nothing to mirror.
std::unique_ptr<DataSource> make_dataset_source(Dataset dataset);

/// Which rows of a dataset of n_rows are items first_item ... of the training stream, [count] int64: each epoch is a
/// permutation of its own. With `mirror` half of them are to be mirrored, told by -1 - row instead of row.
torch::Tensor stream_rows(const RandomStream& random, uint64_t first_item, int64_t count, int64_t n_rows, bool mirror);

/// The items that stream_rows names, mirrored where it says so: rows [B] -> [B, n] int64. `labels` are those of the
/// dataset, on the device where the items are wanted.
torch::Tensor gather_items(const Dataset& dataset, const torch::Tensor& labels, const torch::Tensor& rows);

}  // namespace segre
