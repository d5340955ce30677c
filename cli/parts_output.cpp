#include "cli/parts_output.h"

#include <iomanip>
#include <sstream>

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/report/picture.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

// "000065536.csv" for the part that begins with item 65536.
std::string name_of_part(int64_t first) {
  std::ostringstream name;
  name << std::setw(9) << std::setfill('0') << first << ".csv";
  return name.str();
}

void write_part(const fs::path& folder, const Space& space, const torch::Tensor& labels, int64_t first,
                const std::optional<BinValues>& numbers) {
  auto values = numbers;
  if (values) values->first_item = static_cast<uint64_t>(first);
  write_file_whole(folder / name_of_part(first),
                   [&](std::ostream& out) { write_labels_csv(out, space, labels, /*with_header=*/true, values); });
}

// parts [P, 2]: first item and number of items of each, of all ranks.
void write_index(const fs::path& folder, const torch::Tensor& parts) {
  const auto sorted = parts.index_select(0, parts.select(1, 0).argsort());
  write_file_whole(folder / "index.csv", [&](std::ostream& out) {
    out << "file,first,count\n";
    for (int64_t k = 0; k < sorted.size(0); ++k) {
      const auto first = sorted[k][0].item<int64_t>();
      out << name_of_part(first) << ',' << first << ',' << sorted[k][1].item<int64_t>() << '\n';
    }
  });
}

}  // namespace

PartsOutput::PartsOutput(std::shared_ptr<Ranks> ranks, const std::string& option, const std::string& name)
    : ranks_(std::move(ranks)) {
  if (ranks_->is_first()) folder_.emplace(option, name);
}

int64_t PartsOutput::blocks_per_part(const Space& space) { return space.is(PartKind::image) ? 1 : 64; }

void PartsOutput::write(const Space& space, const std::function<void(const Add&)>& fill,
                        const std::optional<BinValues>& numbers) {
  const bool maps = space.is(PartKind::image);
  const auto fill_folder = [&](const fs::path& made) {
    const fs::path folder = broadcast_text(*ranks_, made.string());
    auto parts = torch::empty({0, 2}, torch::kInt64);
    fill([&](const torch::Tensor& labels, int64_t first) {
      maps ? write_label_maps(folder, space, labels, first) : write_part(folder, space, labels, first, numbers);
      parts = torch::cat({parts, torch::tensor({{first, labels.size(0)}}, torch::kInt64)});
    });
    const auto all = ranks_->gather(parts);  // when everyone has written
    if (ranks_->is_first() && !maps) write_index(folder, all);
  };
  folder_ ? folder_->write(fill_folder) : fill_folder({});
}

}  // namespace segre::cli
