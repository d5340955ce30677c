#include "segre/tasks/table_stream.h"

#include <algorithm>

#include "segre/read/readers.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

const SourceName& with_known_options(const SourceName& name) {
  require_known_options(name);
  return name;
}

}  // namespace

TableStream::TableStream(const SourceName& name, const Space& space, const std::string& what, bool keeps_fields,
                         const std::string& quietly)
    : n_variables_(space.n_variables()),
      limit_(name.limit()),
      keeps_fields_(keeps_fields),
      items_(with_known_options(name), space, what, Unknowns::allow, Lacking::unknown, quietly) {
  note_encoding(name);
  for (int64_t i = 0; i < n_variables_; ++i) has_bins_ = has_bins_ || space.bins(i) != nullptr;
}

std::vector<std::string> TableStream::texts_of_row() const {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < n_variables_; ++i)
    texts.emplace_back(field(i) < 0 ? std::string() : fields_.back()[field(i)]);
  return texts;
}

ItemBatch TableStream::next(int64_t most) {
  ItemBatch batch;
  fields_.clear();
  std::vector<int32_t> labels;
  std::vector<int64_t> all;
  const int64_t wanted = std::min(most, limit_ - n_read_);
  for (int64_t count = 0; count < wanted && items_.next(labels); ++count) {
    batch.rows.push_back(items_.row());
    all.insert(all.end(), labels.begin(), labels.end());
    if (!keeps_fields_) continue;
    fields_.emplace_back();
    for (int64_t i = 0; i < table().n_fields(); ++i) fields_.back().emplace_back(table().field(i));
    if (has_bins_) batch.texts.push_back(texts_of_row());
  }
  const auto n_rows = static_cast<int64_t>(batch.rows.size());
  batch.labels = torch::tensor(all, torch::kInt64).view({n_rows, n_variables_});
  n_read_ += n_rows;
  if (n_rows == 0) items_.finish();
  return batch;
}

}  // namespace segre
