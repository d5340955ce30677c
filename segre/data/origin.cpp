#include "segre/data/origin.h"

#include <algorithm>

#include "segre/core/error.h"

namespace segre {

ItemNumbers ItemNumbers::up_to(int64_t count) { return count > 0 ? ItemNumbers(count, {{0, 0}}) : ItemNumbers(); }

void ItemNumbers::add(int64_t number) {
  if (runs_.empty() || number != runs_.back().second + (size_ - runs_.back().first)) runs_.emplace_back(size_, number);
  ++size_;
}

int64_t ItemNumbers::operator[](int64_t item) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), item,
                                      [](int64_t wanted, const auto& run) { return wanted < run.first; });
  const auto& [first, number] = *std::prev(after);
  return number + (item - first);
}

Origin::Origin(Kind kind, std::vector<std::string> files, ItemNumbers numbers)
    : kind_(kind),
      files_(std::make_shared<const std::vector<std::string>>(std::move(files))),
      numbers_(std::move(numbers)) {}

Origin Origin::lines(std::string file, ItemNumbers lines) { return {Kind::line, {std::move(file)}, std::move(lines)}; }

Origin Origin::items(std::string file, ItemNumbers numbers) {
  return {Kind::item, {std::move(file)}, std::move(numbers)};
}

Origin Origin::rows(std::string table, ItemNumbers numbers) {
  return {Kind::row, {std::move(table)}, std::move(numbers)};
}

Origin Origin::files(std::vector<std::string> files) {
  const auto count = static_cast<int64_t>(files.size());
  return {Kind::file, std::move(files), ItemNumbers::up_to(count)};
}

std::string Origin::place(int64_t item) const {
  if (kind_ == Kind::unknown || item < 0 || item >= numbers_.size()) return "";
  const int64_t number = numbers_[item];
  if (kind_ == Kind::file) return (*files_)[number];
  return concat(files_->front(), kind_ == Kind::line ? ":" : kind_ == Kind::row ? ": row " : ": item ", number);
}

Origin Origin::select(const torch::Tensor& rows) const {
  if (kind_ == Kind::unknown) return {};
  Origin chosen = *this;
  chosen.numbers_ = {};
  const auto contiguous = rows.contiguous();
  const auto* row = contiguous.data_ptr<int64_t>();
  for (int64_t k = 0; k < contiguous.numel(); ++k) chosen.numbers_.add(numbers_[row[k]]);
  return chosen;
}

}  // namespace segre
