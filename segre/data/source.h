#pragma once

#include <memory>
#include <string>

#include "segre/data/dataset.h"
#include "segre/data/joint_table.h"

namespace segre {

/// A source of data: items in a space, addressed by number so that any batch can be reproduced. A program may bring its
/// own source; training checks its items batch by batch. Threads may share a source, also yours: its functions are
/// const.
class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual const Space& space() const = 0;
  /// The number of items; 0: endless, drawn or generated.
  virtual int64_t n_items() const = 0;
  /// Items first ... first + count - 1 in the source's own order: [count, n] int64.
  virtual torch::Tensor rows(int64_t first, int64_t count) const = 0;
  /// What training sees: items first_item ... of an endless stream, [count, n] int64. A finite source gives every item
  /// once per epoch, in a new order each time; the others draw.
  virtual torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const = 0;
  /// The items with these numbers, [K] int64, in the source's own order: [K, n] int64.
  virtual torch::Tensor take(const torch::Tensor& numbers) const;
  /// Where an item was read, for messages: "t.csv:17"; "" if it was not read from a file.
  virtual std::string place(int64_t /*item*/) const { return {}; }
  /// The row of an item in its table, counted from 0: its own number unless rows before it were left out.
  virtual int64_t file_row(int64_t item) const { return item; }
  /// Whether labels of some items are kUnknown.
  virtual bool has_unknowns() const { return false; }
  /// The items if they are one tensor, so that they can move to a GPU; else nullptr. It may be mapped (mapped_rows.h).
  virtual const Dataset* dataset() const { return nullptr; }
  /// Whether items() are the rows of stream_rows, mirrored if mirrors(): a copy of all rows serves as well.
  virtual bool is_stored() const { return dataset() != nullptr; }
  /// Whether training mirrors half of the images left to right.
  virtual bool mirrors() const { return dataset() != nullptr && dataset()->mirror; }
  /// The exact distribution if known; else nullptr.
  virtual const JointTable* joint() const { return nullptr; }
};

/// DataSource::file_row of the first `count` items.
std::vector<int64_t> file_rows_of(const DataSource& source, int64_t count);

/// A source that draws from a known joint distribution. InputError if it is invalid: see check_joint.
std::unique_ptr<DataSource> make_joint_source(JointTable table);

/// A source of items in memory, or in a MappedFile if they are larger. The labels may have any integer type: they are
/// checked here, once, and kept as label_type(space), without a copy if they already have that type. InputError names
/// item, variable and value of a label outside [0, c_i) (kUnknown may be allowed), or a shape other than [N, n], or
/// says that there are no items or nothing to mirror.
std::unique_ptr<DataSource> make_dataset_source(Dataset dataset);

/// All items of a finite source, [N, n] of label_type: those of its dataset without a copy, if it has one. A copy that
/// is larger than memory is in a temporary file.
torch::Tensor all_labels(const DataSource& source);

/// The same, checked and copied to a device; undefined unless the source is_stored() and its labels take less than
/// `most_bytes`.
torch::Tensor labels_on(const DataSource& source, torch::Device device, int64_t most_bytes);

/// InputError, starting with `what`, if labels of some items are unknown.
void require_complete(const DataSource& source, const std::string& what);

/// The rows of a dataset of n_rows that are items first_item ... of the training stream, [count] int64. Each epoch is
/// a new permutation. With `mirror`, half of them are to be mirrored, marked by -1 - row instead of row.
torch::Tensor stream_rows(const RandomStream& random, uint64_t first_item, int64_t count, int64_t n_rows, bool mirror);

/// The items of stream_rows, mirrored if marked so: rows [B] -> [B, n] int64. `labels` are those of the dataset, on the
/// device that is to hold the items.
torch::Tensor gather_items(const Dataset& dataset, const torch::Tensor& labels, const torch::Tensor& rows);

/// The same for labels of images in a space, mirrored or not: those of labels_on().
torch::Tensor gather_items(const Space& space, bool mirror, const torch::Tensor& labels, const torch::Tensor& rows);

}  // namespace segre
