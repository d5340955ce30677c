#include "segre/data/split.h"

#include <algorithm>
#include <bit>

#include "segre/core/error.h"
#include "segre/core/philox.h"
#include "segre/io/mapped_rows.h"

namespace segre {
namespace {

// Positions first ... end - 1 of a fixed shuffle of n rows, ascending: each part keeps the source's order.
torch::Tensor shuffled_rows(int64_t n, int64_t first, int64_t end) {
  auto rows = torch::empty({end - first}, torch::kInt64);
  auto* row = rows.data_ptr<int64_t>();
  for (int64_t k = first; k < end; ++k) row[k - first] = shuffled({0, Purpose::validation_data}, 0, k, n);
  return std::get<0>(rows.sort());
}

constexpr uint64_t kRounds = 8;  // with 4, one of five items is at some position up to a tenth too often

// Mixes (epoch, round, half) into 32 random bits. Each epoch has its own key.
uint32_t round_key(const RandomStream& random, uint64_t epoch, uint64_t round, uint64_t half) {
  const uint64_t key = random.seed + 0x9E3779B97F4A7C15u * (epoch + 1);
  return philox::block(key, random.stream, (round << 32) | half).word[0];
}

int64_t count_unknown(const torch::Tensor& labels) {
  int64_t count = 0;
  for_each_part(labels, [&](const torch::Tensor& part, int64_t) { count += (part < 0).sum().item<int64_t>(); });
  return count;
}

class RestSource final : public DataSource {
 public:
  RestSource(std::shared_ptr<const DataSource> whole, const torch::Tensor& left_out)
      : whole_(std::move(whole)), dataset_(*whole_->dataset()) {
    const auto rows = left_out.contiguous();
    const auto* row = rows.const_data_ptr<int64_t>();
    for (int64_t k = 0; k < rows.numel(); ++k) before_.push_back(row[k] - k);
    if (n_items() < 1) fail("leaving out ", rows.numel(), " of ", whole_->n_items(), " items leaves none");
    if (whole_->has_unknowns())
      has_unknowns_ = count_unknown(dataset_.labels) > count_unknown(take_rows(dataset_.labels, rows));
  }

  const Space& space() const override { return whole_->space(); }
  int64_t n_items() const override { return whole_->n_items() - static_cast<int64_t>(before_.size()); }
  torch::Tensor rows(int64_t first, int64_t count) const override {
    const int64_t end = std::min(n_items(), first + count);
    if (first >= end) return whole_->rows(0, 0);
    const int64_t begin = row_of(first);
    auto all = whole_->rows(begin, row_of(end - 1) + 1 - begin);
    if (all.size(0) == end - first) return all;
    return all.index_select(0, rows_of(torch::arange(first, end, torch::kInt64)) - begin);
  }
  torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const override {
    const auto rows = stream_rows(random, first_item, count, n_items(), dataset_.mirror);
    return gather_items(dataset_, dataset_.labels, rows_of(rows));
  }
  torch::Tensor take(const torch::Tensor& numbers) const override { return whole_->take(rows_of(numbers)); }
  std::string place(int64_t item) const override { return whole_->place(row_of(item)); }
  int64_t file_row(int64_t item) const override { return whole_->file_row(row_of(item)); }
  bool has_unknowns() const override { return has_unknowns_; }
  bool is_stored() const override { return true; }
  bool mirrors() const override { return dataset_.mirror; }

 private:
  int64_t row_of(int64_t item) const {
    return item + (std::upper_bound(before_.begin(), before_.end(), item) - before_.begin());
  }
  // The rows of items; those to be mirrored stay marked, see stream_rows.
  torch::Tensor rows_of(const torch::Tensor& items) const {
    auto rows = items.clone(at::MemoryFormat::Contiguous);
    auto* row = rows.data_ptr<int64_t>();
    for (int64_t k = 0; k < rows.numel(); ++k) row[k] = row[k] < 0 ? -1 - row_of(-1 - row[k]) : row_of(row[k]);
    return rows;
  }

  std::shared_ptr<const DataSource> whole_;
  const Dataset& dataset_;       // the whole
  std::vector<int64_t> before_;  // for each row left out, how many of those left are before it
  bool has_unknowns_ = false;
};

}  // namespace

torch::Tensor chosen_rows(int64_t n, int64_t count) { return shuffled_rows(n, 0, count); }

torch::Tensor chosen_items(const DataSource& source, int64_t most) {
  const int64_t n = source.n_items();
  if (n == 0 || n <= most) return source.rows(0, n == 0 ? most : n);
  return source.take(chosen_rows(n, most));
}

std::pair<Dataset, Dataset> split_off(const Dataset& dataset, int64_t count) {
  const int64_t n = dataset.labels.size(0);
  const auto take = [&](const torch::Tensor& rows) {
    return Dataset{dataset.space, take_rows(dataset.labels, rows), dataset.mirror, dataset.origin.select(rows),
                   dataset.unknowns};
  };
  return {take(shuffled_rows(n, count, n)), take(chosen_rows(n, count))};
}

int64_t shuffled(const RandomStream& random, uint64_t epoch, int64_t position, int64_t n) {
  // From a position outside, the loop might never come back below n.
  if (position < 0 || position >= n) fail("position ", position, " is outside a shuffle of ", n, " items");
  if (n == 1) return 0;
  const int half_bits = (std::bit_width(static_cast<uint64_t>(n - 1)) + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  auto value = static_cast<uint64_t>(position);
  do {
    uint64_t left = value >> half_bits;
    uint64_t right = value & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mixed = (left ^ round_key(random, epoch, round, right)) & mask;
      left = right;
      right = mixed;
    }
    value = (left << half_bits) | right;
  } while (value >= static_cast<uint64_t>(n));
  return static_cast<int64_t>(value);
}

std::unique_ptr<DataSource> make_rest_source(std::shared_ptr<const DataSource> whole, const torch::Tensor& left_out) {
  return std::make_unique<RestSource>(std::move(whole), left_out);
}

}  // namespace segre
