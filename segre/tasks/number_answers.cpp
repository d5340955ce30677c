#include "segre/tasks/number_answers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "segre/space/bins.h"
#include "segre/space/blocks.h"
#include "segre/space/interval.h"
#include "segre/space/number_pieces.h"

namespace segre {
namespace {

// Ranges with so much of the mass are resolved for the mean.
constexpr double kMuch = 0.1;

// Places in kNumberSummary, and the quantiles there.
constexpr size_t kMeanPlace = 1;
constexpr std::array kQuantiles = {0.5, 0.0, 0.05, 0.25, 0.75, 0.95};

// The distribution of a column over its intervals and single values, row by row.
class NumberDistribution {
 public:
  NumberDistribution(const Completer& completer, const Column& column, const torch::Tensor& marginals)
      : completer_(completer), column_(column), bins_(*completer.space().bins(column.first)), pieces_(bins_) {
    const Space& space = completer.space();
    const auto p = marginals.narrow(1, space.offset(column.first), bins_.size());
    labels_ = (p / p.sum(1, /*keepdim=*/true)).contiguous();
    numbers_ = torch::empty({p.size(0), pieces_.size()}, torch::kFloat64);
    for (int64_t row = 0; row < p.size(0); ++row)
      for (int64_t k = 0; k < pieces_.size(); ++k) {
        const Bins::Place place = bins_.place_of(k);
        of(row)[k] = labels_of(row)[place.label] / static_cast<double>(n_within(place.label));
      }
  }

  // Asks about the places within the ranges where these quantiles lie, and within those with much of the mass.
  void resolve(const Known& known, const std::vector<double>& quantiles, bool for_mean) {
    if (bins_.fine == 1) return;
    std::vector<int64_t> rows, ranges;
    for (int64_t row = 0; row < numbers_.size(0); ++row)
      for (const int64_t range : ranges_of(row, quantiles, for_mean)) {
        rows.push_back(row);
        ranges.push_back(range);
      }
    if (rows.empty()) return;
    const Space& space = completer_.space();
    const auto within = asked(known, rows, ranges)
                            .narrow(1, space.offset(column_.first + 1), space.n_labels(column_.first + 1))
                            .contiguous();
    for (size_t k = 0; k < rows.size(); ++k)
      set_within(rows[k], ranges[k], within[static_cast<int64_t>(k)].const_data_ptr<double>());
  }

  double quantile(int64_t row, double q) const { return pieces_.quantile(of(row), q); }
  double mean(int64_t row) const { return pieces_.mean(of(row)); }

 private:
  double* of(int64_t row) { return numbers_.data_ptr<double>() + row * pieces_.size(); }
  const double* of(int64_t row) const { return numbers_.const_data_ptr<double>() + row * pieces_.size(); }
  const double* labels_of(int64_t row) const { return labels_.const_data_ptr<double>() + row * bins_.size(); }
  // How many intervals share a label.
  int64_t n_within(int64_t label) const {
    return label < bins_.n_shared() ? std::min(bins_.fine, bins_.n_intervals() - label * bins_.fine) : 1;
  }
  // The range of intervals with one label that a value lies in, whether or not it has a label of its own.
  int64_t range_of(double value) const {
    const auto above = std::upper_bound(bins_.edges.begin(), bins_.edges.end(), value) - bins_.edges.begin();
    return std::clamp<int64_t>(above - 1, 0, bins_.n_intervals() - 1) / bins_.fine;
  }

  // What lies below a range does not depend on how the mass within others is spread, so equal shares find it.
  std::set<int64_t> ranges_of(int64_t row, const std::vector<double>& quantiles, bool for_mean) const {
    std::set<int64_t> found;
    for (const double q : quantiles) found.insert(range_of(quantile(row, q)));
    for (int64_t label = 0; for_mean && label < bins_.n_shared(); ++label)
      if (labels_of(row)[label] >= kMuch) found.insert(label);
    std::erase_if(found, [&](int64_t label) { return labels_of(row)[label] == 0.0 || n_within(label) == 1; });
    return found;
  }

  // The marginals of rows whose value is known to be in a range: [R, S].
  torch::Tensor asked(const Known& known, const std::vector<int64_t>& rows, const std::vector<int64_t>& ranges) const {
    Known with_range = known.select(torch::tensor(rows, torch::kInt64));
    with_range.labels = with_range.labels.clone();
    with_range.labels.select(1, column_.first).copy_(torch::tensor(ranges, torch::kInt64));
    return completer_.probabilities(with_range, 0);
  }

  void set_within(int64_t row, int64_t range, const double* p) {
    const int64_t n = n_within(range);
    double sum = 0.0;
    for (int64_t k = 0; k < n; ++k) sum += p[k];
    if (!(sum > 0.0)) return;
    for (int64_t k = 0; k < n; ++k) of(row)[range * bins_.fine + k] = labels_of(row)[range] * p[k] / sum;
  }

  const Completer& completer_;
  Column column_;
  const Bins& bins_;
  NumberPieces pieces_;
  torch::Tensor labels_;   // [B, bins_.size()]
  torch::Tensor numbers_;  // [B, intervals and single values]
};

// A value and its labels, as a completed row has them.
void put(const Space& space, const Column& column, double value, int64_t row, FilledRows& filled) {
  const Bins& bins = *space.bins(column.first);
  const double possible = nearest_on_grid(bins, value);
  const Bins::Place place = bins.place(possible);
  filled.labels[row][column.first] = place.label;
  if (column.n_variables == 2) filled.labels[row][column.first + 1] = place.within;
  filled.numbers[row][column.first] = possible;
}

// `known` with nothing filled in yet.
FilledRows nothing_filled(const Space& space, const Known& known) {
  FilledRows filled{.labels = known.labels.clone()};
  for (const Column& column : space.columns_and_variables())
    if (is_measured(space, column) && !filled.numbers.defined())
      filled.numbers = torch::full(known.labels.sizes(), NAN, torch::kFloat64);
  return filled;
}

torch::Tensor rows_where(const torch::Tensor& mask) { return mask.nonzero().squeeze(1); }

// Fills a measured column in these rows of `known`, [R] int64.
void fill_numbers(const Completer& completer, const Known& known, const Column& column, const torch::Tensor& rows,
                  const torch::Tensor& marginals, FilledRows& filled) {
  if (rows.numel() == 0) return;
  const auto values = medians(completer, known.select(rows), column, marginals.index_select(0, rows));
  for (int64_t k = 0; k < rows.numel(); ++k)
    put(completer.space(), column, values[k].item<double>(), rows[k].item<int64_t>(), filled);
}

// The most certain unknown variable of every row, the probability of its most likely label being the largest: [B]
// int64. The second variable of a column waits for the first. Every row has an unknown variable.
torch::Tensor most_certain(const Space& space, const torch::Tensor& labels, const torch::Tensor& marginals) {
  const auto largest =
      reduce_blocks(space, {marginals}, [](const auto& in) { return in[0].amax(-1); }).contiguous();  // [B, n]
  std::vector<int64_t> heads;  // the first variable of each one's column
  for (const Column& column : space.columns_and_variables())
    heads.insert(heads.end(), column.n_variables, column.first);
  auto chosen = torch::full({labels.size(0)}, -1, torch::kInt64);
  for (int64_t row = 0; row < labels.size(0); ++row) {
    const auto* label = labels[row].const_data_ptr<int64_t>();
    const auto* p = largest[row].const_data_ptr<double>();
    int64_t best = -1;
    for (int64_t i = 0; i < labels.size(1); ++i) {
      const bool waits = heads[i] != i && label[heads[i]] == kUnknown;
      if (label[i] == kUnknown && !waits && (best < 0 || p[i] > p[best])) best = i;
    }
    chosen[row] = best;
  }
  return chosen;
}

}  // namespace

bool is_measured(const Space& space, const Column& column) {
  const Bins* bins = space.bins(column.first);
  return bins != nullptr && bins->is_measured();
}

torch::Tensor summarise_numbers(const Completer& completer, const Known& known, const Column& column,
                                const torch::Tensor& marginals) {
  NumberDistribution distribution(completer, column, marginals);
  std::vector<double> quantiles(kQuantiles.begin(), kQuantiles.end());
  quantiles.erase(quantiles.begin() + kMeanPlace);
  distribution.resolve(known, quantiles, /*for_mean=*/true);
  auto out = torch::empty({marginals.size(0), static_cast<int64_t>(kNumberSummary.size())}, torch::kFloat64);
  auto* at = out.data_ptr<double>();
  for (int64_t row = 0; row < marginals.size(0); ++row)
    for (size_t which = 0; which < kNumberSummary.size(); ++which)
      *at++ = which == kMeanPlace ? distribution.mean(row) : distribution.quantile(row, kQuantiles[which]);
  return out;
}

torch::Tensor medians(const Completer& completer, const Known& known, const Column& column,
                      const torch::Tensor& marginals) {
  NumberDistribution distribution(completer, column, marginals);
  distribution.resolve(known, {0.5}, /*for_mean=*/false);
  auto out = torch::empty({marginals.size(0)}, torch::kFloat64);
  for (int64_t row = 0; row < marginals.size(0); ++row) out[row] = distribution.quantile(row, 0.5);
  return out;
}

std::string answer_text(const Bins& bins, double value) { return bins.text_of(nearest_on_grid(bins, value)); }

FilledRows fill_cells(const Completer& completer, const Known& known, const torch::Tensor& marginals) {
  const Space& space = completer.space();
  FilledRows filled = nothing_filled(space, known);
  filled.labels = torch::where(filled.labels < 0, completer.best(marginals), filled.labels).contiguous();
  for (const Column& column : space.columns_and_variables())
    if (is_measured(space, column))
      fill_numbers(completer, known, column, rows_where(known.labels.select(1, column.first) < 0), marginals, filled);
  return filled;
}

FilledRows fill_rows(const Completer& completer, const Known& known, const torch::Tensor& marginals) {
  const Space& space = completer.space();
  FilledRows filled = nothing_filled(space, known);
  const auto columns = space.columns_and_variables();
  auto open = rows_where((filled.labels < 0).any(1));
  auto p = marginals.index_select(0, open);
  while (open.numel() > 0) {
    Known now = known.select(open);
    now.labels = filled.labels.index_select(0, open);
    FilledRows part{.labels = now.labels.clone()};
    if (filled.numbers.defined()) part.numbers = filled.numbers.index_select(0, open);
    const auto chosen = most_certain(space, now.labels, p);
    const auto best = completer.best(p);
    for (int64_t k = 0; k < open.numel(); ++k) {
      const auto i = chosen[k].item<int64_t>();
      part.labels[k][i] = best[k][i];
    }
    for (const Column& column : columns)
      if (is_measured(space, column)) fill_numbers(completer, now, column, rows_where(chosen == column.first), p, part);
    filled.labels.index_copy_(0, open, part.labels);
    if (filled.numbers.defined()) filled.numbers.index_copy_(0, open, part.numbers);
    open = open.index_select(0, rows_where((part.labels < 0).any(1)));
    now = known.select(open);
    now.labels = filled.labels.index_select(0, open);
    if (open.numel() > 0) p = completer.probabilities(now, 0);
  }
  return filled;
}

}  // namespace segre
