#include "segre/sources/source_kinds.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/read/readers.h"
#include "segre/sources/glyphs.h"
#include "segre/sources/packed_source.h"
#include "segre/sources/streets.h"
#include "segre/sources/toys.h"

namespace segre {
namespace {

using Open = std::function<std::unique_ptr<DataSource>(const SourceName&, const Wanted*)>;

Open opens(JointTable (*make)()) {
  return [make](const SourceName&, const Wanted*) { return make_joint_source(make()); };
}

Open opens(std::unique_ptr<DataSource> (*make)(const SourceName&)) {
  return [make](const SourceName& name, const Wanted*) { return make(name); };
}

Open opens(Dataset (*read)(const SourceName&)) {
  return [read](const SourceName& name, const Wanted*) { return make_dataset_source(read(name)); };
}

// A model knows better than the file which values are mistakes.
Open opens(Dataset (*read)(const SourceName&, Strays)) {
  return [read](const SourceName& name, const Wanted* wanted) {
    return make_dataset_source(read(name, wanted != nullptr ? Strays::keep : Strays::refuse));
  };
}

std::unique_ptr<DataSource> open_joint(const SourceName& name) {
  return make_joint_source(read_joint_csv(name.target(), encoding_of(name)));
}

std::unique_ptr<DataSource> open_csv(const SourceName& name, const Wanted* wanted) {
  if (wanted == nullptr) return open_packed(name, table_inputs, [&] { return read_csv_table(name); });
  // Packed labels are those of the model if it learned them from this table: both spaces are equal.
  if (wanted->most_items == 0 && wanted->unknowns == Unknowns::refuse)
    if (auto packed = open_packed_for(name, table_inputs, wanted->space);
        packed && packed->space().shares_contents_of(wanted->space))
      return packed;
  if (!wanted->space.is(PartKind::columns)) return make_dataset_source(read_csv_table(name));
  return make_dataset_source(
      read_csv_table_for(name, wanted->space, wanted->what, wanted->most_items, wanted->unknowns));
}

// Folders of label maps. Those that were packed have no strays, so a model may use them, too.
Open opens_packed(PackedInputs (*inputs)(const SourceName&), Dataset (*read)(const SourceName&, Strays)) {
  return [=](const SourceName& name, const Wanted* wanted) {
    if (wanted == nullptr) return open_packed(name, inputs, [&] { return read(name, Strays::refuse); });
    auto packed = open_packed_for(name, inputs, wanted->space);
    return packed ? std::move(packed) : make_dataset_source(read(name, Strays::keep));
  };
}

Dataset read_city(const SourceName& name, Strays) { return read_cityscapes(name); }

const SourceOption kLimit{"limit", "take the first N items"};
const SourceOption kEncoding{"encoding", "encoding of FILE, utf8 or latin1 (utf8)"};
const SourceOption kHeight{"height", "resize to this height, together with width"};
const SourceOption kWidth{"width", "resize to this width, together with height"};
const SourceOption kPad{"pad", "add this many pixels of label 0 on each side (0)"};
const SourceOption kCache{
    "cache",
    "auto: labels of more than 256 MiB are packed into a file beside the data (NAME.segre-cache, or .segre-cache in "
    "DIR), which is mapped from then on; yes: those of any size; no (auto)"};
const SourceOption kFlip{"flip", "1: training mirrors half of the images left to right (0)"};

std::vector<SourceKind> built_in_kinds() {
  return {
      {"coupled",
       "",
       "two binary variables, strongly dependent; the exact distribution is known",
       {},
       opens(coupled_binary),
       /*exact=*/true},
      {"mixture",
       "",
       "eight Gaussians on a ring, 91 x 91 labels; the exact distribution is known",
       {},
       opens(gaussian_mixture),
       /*exact=*/true},
      {"pinwheel",
       "",
       "five curved blades, 91 x 91 labels; the exact distribution is known",
       {},
       opens(pinwheel),
       /*exact=*/true},
      {"glyphs", "", "binary digits 28x28, generated endlessly", glyphs_options(), opens(make_glyphs_source)},
      {"streets", "", "label maps of street scenes in eight categories, generated endlessly", streets_options(),
       opens(make_streets_source)},
  };
}

std::vector<SourceKind> table_kinds() {
  return {
      {"joint",
       "FILE.csv",
       "a known joint distribution: columns of labels followed by p",
       {kEncoding},
       opens(open_joint),
       /*exact=*/true},
      {"csv",
       "FILE",
       "a table, one row per item: labels, numbers, dates; FILE may be gzip",
       {{"columns", "take these columns, separated by commas; in a name %2C is a comma and %26 an ampersand (all)"},
        {"without", "drop these columns"},
        {"missing",
         "label: missing values (empty, NA, NaN, null and the like; ?, -, unknown among numbers) get their own label; "
         "unknown: training fills them with the model's own draws, which is right if what is missing depends only on "
         "what is known (with train.fill_holes=false it leaves them out, which is right only if it depends on "
         "nothing); "
         "refuse (label)"},
        {"labels",
         "the labels of all columns, e.g. 0|1, in any order, including those that do not occur in FILE; other values "
         "are refused (those found)"},
        {"dictionary",
         "the same by column: a CSV file with the header column,label and one row per label; columns it does not "
         "name have those of labels=, or those found"},
        {"header",
         "0: the first line is data, and the columns are x1, x2, ...; 1: it names the columns (1, but refused if it "
         "could also be data)"},
        {"delimiter", "comma, semicolon, tab, space or pipe (comma, or detected from the first rows)"},
        kEncoding,
        {"bins",
         "split columns of numbers or dates into this many intervals each, by quantiles, e.g. age:8,fare:10; auto: all "
         "of many different fractions or dates, 10 each (none)"},
        {"numbers",
         "what columns of numbers and dates become: levels (values that recur, and as many fine intervals as there are "
         "rows for; values are drawn and scored within them), labels (each value one), bins (10); for all or, as in "
         "zip:labels,age:bins, for some (levels)"},
        {"max_labels",
         "maximum number of different values in a column, all of them labels, instead of guessing which columns are "
         "identifiers or numbers"},
        {"unseen",
         "for a file read for a model: refuse a label that training never saw, skip its row, or treat it as missing, "
         "if training had missing values (refuse)"},
        kCache,
        kLimit},
       open_csv},
  };
}

std::vector<SourceKind> image_kinds() {
  return {
      {"idx",
       "FILE",
       "IDX images of bytes such as MNIST, binarised; FILE may be gzip",
       {{"threshold", "bytes above it become 1 (127)"},
        kPad,
        {"classes", "take only images of these classes, e.g. 3,8"},
        {"labels", "file of the classes (the labels file next to FILE, named as in MNIST)"},
        {"height", "resize by area before thresholding, together with width"},
        {"width", "see height"},
        kLimit},
       opens(read_idx)},
      {"png",
       "DIR",
       "label maps: every .png under DIR, palette indices or grey values as labels",
       {{"ignore", "this value becomes its own label, the last"},
        {"unknown", "pixels of this value are unknown: training leaves them out, 'segre complete' fills them in"},
        {"map", "labels for values, e.g. 0:0,1:0,2:1; other values are refused"},
        {"labels",
         "number of labels, not counting ignore's (the largest value plus one, unless it is so rare and so far above "
         "all others that it must be a mistake)"},
        kHeight,
        kWidth,
        kFlip,
        kCache,
        kLimit},
       opens_packed(png_inputs, read_png_folder)},
      {"npy",
       "FILE",
       "integers [N, length] or [N, height, width] saved by numpy, -1 if unknown; FILE may be gzip",
       {{"labels", "number of labels (the largest value plus one, unless it looks like a mistake)"}, kLimit},
       opens(read_npy_labels)},
      {"omniglot",
       "ZIP",
       "Omniglot's drawings, strokes as 1",
       {{"size", "height and width to resize to, by area (28)"},
        {"threshold", "percentage of ink in a pixel above which it becomes 1 (50)"},
        kPad,
        {"invert", "1: the strokes are white on black (0)"},
        kLimit},
       opens(read_omniglot)},
      {"cityscapes",
       "DIR",
       "DIR/gtFine/SPLIT/CITY/*_labelIds.png in the eight official categories",
       {{"split", "train, val or test (train)"},
        {"height", "resize to this height, together with width (128)"},
        {"width", "see height (256)"},
        kFlip,
        kCache,
        kLimit},
       opens_packed(cityscapes_inputs, read_city)},
  };
}

}  // namespace

const std::vector<SourceKind>& source_kinds() {
  static const std::vector<SourceKind> kinds = [] {
    std::vector<SourceKind> all = built_in_kinds();
    for (const auto& more : {table_kinds(), image_kinds()}) all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return kinds;
}

bool is_exact(const SourceName& name) {
  return std::ranges::any_of(source_kinds(), [&](const SourceKind& kind) {
    return kind.exact && kind.name == name.kind() && name.has_target() != kind.target.empty();
  });
}

void require_known_options(const SourceName& name) {
  for (const SourceKind& kind : source_kinds())
    if (kind.name == name.kind()) name.require_known_options(kind.options);
}

std::unique_ptr<DataSource> open_source(const std::string& name) { return open_source(name, nullptr); }

std::unique_ptr<DataSource> open_source(const std::string& text, const Wanted* wanted) {
  const SourceName name = parse_source_name(text);
  std::vector<std::string> usages;
  for (const SourceKind& kind : source_kinds()) {
    usages.push_back(kind.usage());
    if (kind.name != name.kind() || name.has_target() == kind.target.empty()) continue;
    name.require_known_options(kind.options);
    if (name.has_target() && name.target().empty())
      fail_input("data source '", text, "': nothing follows the colon, ", kind.usage(), " was expected");
    return kind.open(name, wanted);
  }
  fail_input("data source '", text, "' is not one of ", join(usages, ", "));
}

}  // namespace segre
