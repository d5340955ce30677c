#include "segre/tasks/known_joint.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "segre/eval/total_variation.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

// Decided by the source's name and file size only.
bool is_cheap(const SourceName& name) {
  constexpr uintmax_t kLargestTable = 1 << 20;  // bytes of a joint table: quick to read
  if (!is_exact(name)) return false;
  return !name.has_target() || (std::filesystem::is_regular_file(name.target()) &&
                                std::filesystem::file_size(name.target()) <= kLargestTable);
}

}  // namespace

std::unique_ptr<DataSource> known_joint(const LoadedRun& run) {
  const std::string& data = run.experiment.data;
  if (!LabelingCounts::serves(run.model.space())) return nullptr;
  try {
    if (!is_cheap(parse_source_name(data))) return nullptr;
    auto source = open_source(data);
    const bool same = source->space().to_json() == run.model.space().to_json() &&
                      (!run.data || run.data->items == fingerprint_of(*source, data));
    return same && source->joint() != nullptr ? std::move(source) : nullptr;
  } catch (const std::exception&) {
    return nullptr;  // optional, so errors are ignored
  }
}

}  // namespace segre
