#include "segre/tasks/given.h"

#include <algorithm>
#include <charconv>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/text.h"
#include "segre/core/utf8.h"
#include "segre/io/npy.h"
#include "segre/io/png.h"

namespace segre {
namespace {

// What a user can name: columns, or variables.
class Named {
 public:
  explicit Named(const Space& space) : columns_(space.columns_and_variables()) {
    for (const Column& column : columns_) names_.push_back(column.name);
  }
  // nullptr if there is none.
  const Column* find(const std::string& name) const {
    const auto at = std::find(names_.begin(), names_.end(), name);
    return at == names_.end() ? nullptr : &columns_[at - names_.begin()];
  }
  const Column& require(const std::string& name, const std::string& option) const {
    if (const Column* found = find(name)) return *found;
    fail_input(option, ": the model has no variable '", printable(name), "'; the nearest is ",
               printable(nearest(name, names_)));
  }

 private:
  std::vector<Column> columns_;
  std::vector<std::string> names_;
};

void mark(torch::Tensor& given, const Column& column) {
  given.slice(0, column.first, column.first + column.n_variables).fill_(true);
}

// The half of an image that a word names, [n] bool; undefined for other words.
torch::Tensor half_of(const Space& space, const std::string& word) {
  if (!space.is(PartKind::image)) return {};
  auto half = torch::zeros(space.item_shape(), torch::kBool);
  const int64_t rows = space.image_part()->height() / 2;
  const int64_t columns = space.image_part()->width() / 2;
  if (word == "upper") {
    half.slice(0, 0, rows).fill_(true);
  } else if (word == "lower") {
    half.slice(0, rows).fill_(true);
  } else if (word == "left") {
    half.slice(1, 0, columns).fill_(true);
  } else if (word == "right") {
    half.slice(1, columns).fill_(true);
  } else {
    return {};
  }
  return half.flatten();
}

torch::Tensor read_mask(const Space& space, const std::string& file, const std::string& option) {
  torch::Tensor values;
  if (file.ends_with(".npy")) {
    values = read_npy(file);
  } else {
    const PngImage image = read_png(file);
    if (image.kind == PngImage::Kind::colour) fail_input(option, " ", file, ": stores colours, a mask was expected");
    values = torch::empty({image.height, image.width}, torch::kInt64);
    std::copy(image.values.begin(), image.values.end(), values.data_ptr<int64_t>());
  }
  if (values.sizes().vec() != space.item_shape())
    fail_input(option, " ", file, ": has shape ", values.sizes(), ", an item has ",
               at::IntArrayRef(space.item_shape()));
  return (values != 0).flatten();
}

// "7" or "5-9", positions counted from 1; false if the word is not of this form.
bool add_positions(torch::Tensor& given, const std::string& word, const std::string& option) {
  int64_t first = 0;
  const char* const end = word.data() + word.size();
  auto [at, error] = std::from_chars(word.data(), end, first);
  if (error != std::errc()) return false;
  int64_t last = first;
  if (at != end && *at == '-') {
    const auto rest = std::from_chars(at + 1, end, last);
    if (rest.ec != std::errc()) return false;
    at = rest.ptr;
  }
  if (at != end) return false;
  if (first < 1 || last < first || last > given.numel())
    fail_input(option, " ", word, ": expected positions from 1 to ", given.numel());
  given.slice(0, first - 1, last).fill_(true);
  return true;
}

}  // namespace

std::optional<Column> find_column(const Space& space, const std::string& name) {
  const Named named(space);
  const Column* found = named.find(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

Column column_named(const Space& space, const std::string& name, const std::string& option) {
  return Named(space).require(name, option);
}

std::vector<std::string> split_list(const std::string& text, const std::string& option) {
  std::vector<std::string> pieces(1);
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string& piece = pieces.back();
    const char before = at > 0 ? text[at - 1] : ',';
    if (!quoted && text[at] == '"' && (before == ',' || before == '=' || before == '|')) {
      quoted = true;
    } else if (quoted && text[at] == '"') {
      if (at + 1 < text.size() && text[at + 1] == '"') {
        piece += text[at++];
      } else {
        quoted = false;
      }
    } else if (!quoted && text[at] == ',') {
      pieces.emplace_back();
    } else if (!quoted && (text.compare(at, 3, "%2C") == 0 || text.compare(at, 3, "%2c") == 0)) {
      piece += ',';
      at += 2;
    } else {
      piece += text[at];
    }
  }
  if (quoted) fail_input(option, " ", printable(text), ": a quote is never closed");
  return pieces;
}

torch::Tensor parse_variables(const Space& space, const std::string& text, const std::string& option) {
  const Named named(space);
  if (const Column* column = named.find(text)) {  // its name may contain a comma
    auto one = torch::zeros({space.n_variables()}, torch::kBool);
    mark(one, *column);
    return one;
  }
  if (text.ends_with(".png") || text.ends_with(".npy")) return read_mask(space, text, option);
  if (const auto half = half_of(space, text); half.defined()) return half;
  auto given = torch::zeros({space.n_variables()}, torch::kBool);
  for (const std::string& word : split_list(text, option)) {
    const bool by_number = !space.is(PartKind::columns) && add_positions(given, word, option);
    if (!by_number) mark(given, named.require(word, option));
  }
  return given;
}

void note_untold(const LoadedRun& run) {
  if (run.experiment.train.evidence.kind == EvidenceKind::uniform)
    note(
        "this model was trained with train.evidence = \"uniform\": it never saw known labels, so its conditionals may "
        "be far from those of its samples; train with train.evidence = \"any\" for trustworthy ones");
}

}  // namespace segre
