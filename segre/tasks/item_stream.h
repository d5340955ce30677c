#pragma once  // internal

#include <memory>
#include <string>
#include <vector>

#include "segre/data/source_name.h"
#include "segre/space/space.h"

namespace segre {

/// Consecutive items of a request.
struct ItemBatch {
  torch::Tensor labels;         ///< [B, n] int64, kUnknown where they are not known
  torch::Tensor soft{};         ///< [B, S] log-likelihoods of all labels; undefined without any
  std::vector<int64_t> rows{};  ///< the number of each in its file or request, counted from 1
  /// The values of each item's variables as the user wrote them, which say more than the labels if these are bins; {}
  /// if none are.
  std::vector<std::vector<std::string>> texts{};
};

/// Where the items of a request come from, batch by batch: memory, or a file that is read no further than it has to be.
/// Use from one thread at a time.
class ItemStream {
 public:
  virtual ~ItemStream() = default;
  ItemStream() = default;
  ItemStream(const ItemStream&) = delete;
  ItemStream& operator=(const ItemStream&) = delete;

  /// The next items, `most` of them or fewer; none at the end.
  virtual ItemBatch next(int64_t most) = 0;
  /// How many there are in all; 0: not known before the end.
  virtual int64_t count() const { return 0; }
};

/// Items in memory.
class ItemsInMemory final : public ItemStream {
 public:
  /// Without `rows`, they are 1, 2, ....
  explicit ItemsInMemory(ItemBatch all);

  ItemBatch next(int64_t most) override;
  int64_t count() const override { return all_.labels.size(0); }

 private:
  ItemBatch all_;
  int64_t first_ = 0;
};

/// The rows of `csv:FILE` for a model, read as they are needed; missing cells are kUnknown, and so are columns that the
/// file lacks, with a note except for the one named `quietly`. `what` starts messages. Numbers and dates keep their
/// texts.
std::unique_ptr<ItemStream> stream_csv(const SourceName& name, const Space& space, const std::string& what,
                                       const std::string& quietly = "");

/// The first `most` items of any source, all if it is 0, in memory.
std::unique_ptr<ItemStream> stream_source(const std::string& name, const Space& space, int64_t most,
                                          const std::string& what);

/// Log-likelihoods of every label of the items in these rows of a file, which are in ascending order: of all rows, [N,
/// S] or, in a uniform space, [N, n, c] or the shape of an item and c -> of the items, [rows.size(), S]. InputError,
/// starting with `what`, for another shape, too few rows or a NaN.
torch::Tensor check_evidence(const Space& space, const torch::Tensor& soft, const std::vector<int64_t>& rows,
                             const std::string& what);

}  // namespace segre
