#include "segre/ood/outliers.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/io/csv.h"
#include "segre/likelihood/scores.h"
#include "segre/ood/rare_pairs.h"

namespace segre {
namespace {

const char* const kColumns[] = {"rank", "item",      "place",         "score", "std_error",  "percentile",  "column",
                                "pair", "pair_seen", "pair_expected", "nats",  "nats_error", "independent", "outside"};

// One of our column names, prefixed if the table has a column of that name.
std::string unlike(std::string name, const std::vector<std::string>& taken) {
  while (std::find(taken.begin(), taken.end(), name) != taken.end()) name = "segre_" + name;
  return name;
}

int64_t number_of(const OddRows& rows, int64_t item) {
  return rows.file_rows.empty() ? item : rows.file_rows[static_cast<size_t>(item)];
}

std::string place_of(const OddRows& rows, int64_t item) {
  const std::string& place = rows.places[static_cast<size_t>(item)];
  return place.empty() ? concat("item ", number_of(rows, item)) : place;
}

int64_t variable_of(const OddRows& rows, int64_t item) { return rows.variable[item].item<int64_t>(); }

const RarePair* pair_of(const OddRows& rows, int64_t item) {
  if (rows.pairs.empty() || !rows.pairs[static_cast<size_t>(item)]) return nullptr;
  return &*rows.pairs[static_cast<size_t>(item)];
}

std::string pair_text(const OddRows& rows, int64_t item, const RarePair& pair) {
  return describe(pair, rows.space, rows.labels[item]);
}

}  // namespace

torch::Tensor percentiles_among(const torch::Tensor& scores, const torch::Tensor& training_scores) {
  const auto sorted = std::get<0>(training_scores.sort());
  return torch::searchsorted(sorted, scores).to(torch::kFloat64) * (100.0 / static_cast<double>(sorted.numel() + 1));
}

torch::Tensor oddest_first(const torch::Tensor& scores) {
  return torch::argsort(scores, /*stable=*/true, /*dim=*/0, /*descending=*/true);
}

torch::Tensor oddest_first(const OddRows& rows) {
  const auto order = oddest_first(rows.score);
  if (!rows.beyond.defined()) return order;
  auto first = torch::empty({order.numel()}, torch::kBool);
  for (int64_t k = 0; k < order.numel(); ++k) first[k] = rows.is_far_outside(order[k].item<int64_t>());
  return torch::cat({order.masked_select(first), order.masked_select(first.logical_not())});
}

void write_outliers_csv(std::ostream& out, const OddRows& rows) {
  const auto own = rows.space.is(PartKind::columns) ? rows.space.columns() : std::vector<Column>();
  const auto labels = rows.labels.to(torch::kInt64).contiguous();
  std::vector<std::string> columns;
  for (const Column& column : own) columns.push_back(column.name);
  std::vector<std::string> header;
  for (const char* name : kColumns) header.push_back(unlike(name, columns));
  for (const std::string& name : columns) header.push_back(csv_field(name));
  out << join(header, ",") << '\n' << std::setprecision(kScoreDigits);
  const auto order = oddest_first(rows);
  for (int64_t k = 0; k < order.numel(); ++k) {
    const int64_t item = order[k].item<int64_t>();
    out << k + 1 << ',' << number_of(rows, item) << ',' << csv_field(rows.places[static_cast<size_t>(item)]);
    const auto put = [&](const torch::Tensor& column) { out << ',' << column[item].item<double>(); };
    for (const auto* column : {&rows.score, &rows.std_error, &rows.percentile}) put(*column);
    out << ',' << (rows.variable.defined() ? csv_field(rows.space.column_of(variable_of(rows, item)).name) : "");
    if (const auto* pair = pair_of(rows, item)) {
      out << ',' << csv_field(pair_text(rows, item, *pair)) << ',' << pair->seen << ',' << pair->expected;
    } else {
      out << ",,,";
    }
    for (const auto* column : {&rows.nats, &rows.nats_error, &rows.independent}) put(*column);
    out << ',' << (rows.is_outside(item) ? csv_field(rows.outside[item]) : "");
    for (const Column& column : own)
      out << ',' << csv_field(cell_text(rows.space, column, labels[item].const_data_ptr<int64_t>() + column.first, {}));
    out << '\n';
  }
}

TextTable outliers_table(const OddRows& rows, int64_t top) {
  TextTable table{{"rank", "where", "score", "std error", "percentile"}, {}, /*words_last=*/!rows.pairs.empty()};
  if (rows.variable.defined()) table.header.push_back("odd label");
  if (!rows.pairs.empty()) table.header.push_back(concat("rarest pair (of ", rows.n_paired, " training rows)"));
  const auto order = oddest_first(rows);
  for (int64_t k = 0; k < std::min(top, order.numel()); ++k) {
    const int64_t item = order[k].item<int64_t>();
    table.rows.push_back({concat(k + 1), place_of(rows, item), fixed(rows.score[item].item<double>(), 2),
                          fixed(rows.std_error[item].item<double>(), 2),
                          fixed(rows.percentile[item].item<double>(), 1)});
    if (rows.is_far_outside(item)) {
      table.rows.back().push_back(rows.outside[item]);
    } else if (rows.variable.defined()) {
      const Column column = rows.space.column_of(variable_of(rows, item));
      const auto labels = rows.labels[item].to(torch::kInt64).contiguous();
      const auto text = cell_text(rows.space, column, labels.const_data_ptr<int64_t>() + column.first, {});
      table.rows.back().push_back(concat(column.name, " = ", text));
    }
    if (rows.pairs.empty()) continue;
    const auto* pair = pair_of(rows, item);
    table.rows.back().push_back(pair == nullptr ? ""
                                                : concat(pair_text(rows, item, *pair), ": ", pair->seen, ", ",
                                                         std::llround(pair->expected), " expected"));
  }
  return table;
}

std::string unseen_pairs_text(const OddRows& rows) {
  constexpr size_t kNamed = 20;
  std::vector<std::string> ranks;
  const auto order = oddest_first(rows);
  for (int64_t k = 0; k < order.numel(); ++k) {
    const auto* pair = pair_of(rows, order[k].item<int64_t>());
    if (pair != nullptr && pair->seen == 0) ranks.push_back(concat(k + 1));
  }
  if (ranks.empty()) return "";
  const size_t count = ranks.size();
  ranks.resize(std::min(count, kNamed));
  return concat(count, " of ", order.numel(), " rows have a pair of labels that none of ", rows.n_paired,
                " training rows had, and not by chance: rank ", join(ranks, ", "), count > kNamed ? ", ..." : "");
}

std::string outside_text(const OddRows& rows) {
  const int64_t n = rows.score.numel();
  int64_t count = 0;
  int64_t n_far = 0;
  for (int64_t row = 0; row < n; ++row) {
    count += rows.is_outside(row) ? 1 : 0;
    n_far += rows.is_far_outside(row) ? 1 : 0;
  }
  if (count == 0) return "";
  return concat(count, " of ", n, count == 1 ? " rows has" : " rows have",
                " values outside the range of training, which the model sees as the nearest interval",
                n_far == 0 ? ""
                           : concat("; ", n_far,
                                    " of them by more than the width of that interval: ranked first, at "
                                    "percentile 100"));
}

std::string order_warning(const OddRows& rows, int64_t top) {
  const auto order = oddest_first(rows);
  int64_t from = 0;  // rows with values far outside the range do not lead by their scores
  while (from < order.numel() && rows.is_far_outside(order[from].item<int64_t>())) ++from;
  const auto first = order.slice(0, from, std::min(from + top, order.numel()));
  const DistinctItems distinct = distinct_items(rows.labels.index_select(0, first));
  const int64_t count = distinct.labels.size(0);
  if (count < 2) return "";
  // The first row of each distinct kind.
  auto which = torch::empty({count}, torch::kInt64);
  for (int64_t k = first.numel() - 1; k >= 0; --k) which[distinct.place[k].item<int64_t>()] = first[k];
  const double variance = rows.score.index_select(0, which).var(/*unbiased=*/true).item<double>();
  const double noise = rows.std_error.index_select(0, which).square().mean().item<double>();
  // The observed variance is the true variance plus the noise.
  if (variance > 2.0 * noise) return "";
  return concat("The order of the first ", first.numel(), " rows is mostly chance: their scores spread by ",
                fixed(std::sqrt(variance), 2), " (standard deviation), standard error ", fixed(std::sqrt(noise), 2),
                " each; request a smaller error.");
}

}  // namespace segre
