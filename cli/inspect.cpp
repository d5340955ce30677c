#include "cli/inspect.h"

#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/text.h"
#include "segre/data/source_summary.h"
#include "segre/io/output.h"
#include "segre/recipes/recipe.h"
#include "segre/report/picture.h"
#include "segre/sources/source_kinds.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kEndlessLook = 1000;    // items examined of an endless source
constexpr int64_t kFiniteLook = 100'000;  // of other sources, unless they are in memory: then all
constexpr int64_t kPreviewItems = 64;
constexpr size_t kMostShares = 32;  // labels listed one by one

std::string percent(double share) {
  if (share > 0.0 && share < 5e-5) return "<0.01%";  // not "0.00%": there are some
  std::ostringstream out;
  out << std::fixed << std::setprecision(share < 0.1 ? 2 : 1) << 100.0 * share << "%";
  return out.str();
}

std::string shown_source(const InspectArguments& arguments) { return "'" + arguments.source + "'"; }

void print_shares(const Space& space, const SourceSummary& summary) {
  if (summary.label_shares.empty()) return;
  std::cout << "labels\n";
  for (size_t label = 0; label < std::min(summary.label_shares.size(), kMostShares); ++label) {
    const double share = summary.label_shares[label];
    std::cout << "  " << std::setw(14) << std::left << space.label_name(0, static_cast<int64_t>(label)) << std::right
              << std::setw(7) << percent(share) << "  "
              << std::string(static_cast<size_t>(std::lround(40.0 * share)), '#') << "\n";
  }
  if (summary.label_shares.size() > kMostShares)
    std::cout << "  and " << summary.label_shares.size() - kMostShares << " more\n";
}

void print_columns(const SourceSummary& summary) {
  if (summary.columns.empty()) return;
  std::cout << "columns\n";
  for (const ColumnSummary& column : summary.columns) {
    std::cout << "  " << std::setw(20) << std::left << column.name << std::right << std::setw(6) << column.n_labels
              << (column.n_labels == 1 ? " label,  " : " labels, ") << "most common " << column.common << " ("
              << percent(column.common_share) << ")";
    if (column.missing_share > 0.0) std::cout << ", missing " << percent(column.missing_share);
    std::cout << "\n";
  }
}

void print_report(const InspectArguments& arguments, const DataSource& source, const SourceSummary& summary) {
  const Space& space = source.space();
  std::cout << "source     " << arguments.source << "\nkind       " << space.describe() << "\nitems      ";
  if (summary.n_items > 0) {
    std::cout << summary.n_items;
  } else {
    std::cout << "endless, " << (source.joint() != nullptr ? "drawn from a known distribution" : "generated");
  }
  std::cout << "\nn          " << space.n_variables() << "\nc_i        " << summary.most_labels;
  if (summary.fewest_labels != summary.most_labels) std::cout << " at most, " << summary.fewest_labels << " at least";
  std::cout << "\nmemory     ";
  if (summary.memory_bytes > 0) {
    std::cout << format_bytes(summary.memory_bytes);
  } else {
    std::cout << "none, items are generated on demand";
  }
  const bool part = summary.n_seen < summary.n_items;
  std::cout << "\nmissing    " << (summary.missing_share > 0.0 ? percent(summary.missing_share) : "none")
            << (part ? " in these" : "") << "\nexamined   " << (part ? "the first " : "") << summary.n_seen
            << " items\n";
  print_shares(space, summary);
  print_columns(summary);
}

nlohmann::json json_report(const InspectArguments& arguments, const DataSource& source, const SourceSummary& summary) {
  const Space& space = source.space();
  nlohmann::json json{{"source", arguments.source},
                      {"kind", space.describe()},
                      {"space", space.to_json()},
                      {"items", summary.n_items},
                      {"variables", space.n_variables()},
                      {"fewest_labels", summary.fewest_labels},
                      {"most_labels", summary.most_labels},
                      {"memory_bytes", summary.memory_bytes},
                      {"missing_share", summary.missing_share},
                      {"items_seen", summary.n_seen},
                      {"label_shares", summary.label_shares},
                      {"columns", nlohmann::json::array()}};
  for (const ColumnSummary& column : summary.columns)
    json["columns"].push_back({{"name", column.name},
                               {"labels", column.n_labels},
                               {"common", column.common},
                               {"common_share", column.common_share},
                               {"missing_share", column.missing_share}});
  return json;
}

// The keys of a recipe that are not the same in all of the others, as TOML.
std::string changed_keys(Experiment recipe, std::vector<Experiment> others) {
  const auto lines_of = [](Experiment& e) { return split(schema_of(e).to_toml(/*with_help=*/false), '\n'); };
  const auto ours = lines_of(recipe);
  std::vector<bool> differs(ours.size(), false);
  for (Experiment& other : others) {
    const auto theirs = lines_of(other);
    for (size_t line = 0; line < ours.size(); ++line) differs[line] = differs[line] || ours[line] != theirs[line];
  }
  std::string out;
  std::string table;
  for (size_t line = 0; line < ours.size(); ++line) {
    if (ours[line].starts_with('[')) table = ours[line];
    if (!differs[line]) continue;
    if (!table.empty()) out += concat("\n", table, "\n");
    table.clear();
    out += ours[line] + "\n";
  }
  return out;
}

std::string starting_config(const InspectArguments& arguments, const DataSource& source) {
  const auto recipe_on = [&](torch::Device device) { return recipe_for(source.space(), source.n_items(), device); };
  Experiment recipe = recipe_on(at::hasCUDA() ? torch::kCUDA : torch::kCPU);
  recipe.data = arguments.source;
  const char* reason = recipe.net.kind == "unet" ? "Images are learned by a UNet"
                       : recipe.net.kind == "latent_class"
                           ? "A few variables are learned by a mixture of products, our default"
                           : "Tables and sequences are learned by residual blocks on the CPU, a transformer on a GPU";
  return concat("# A starting point for ", arguments.source, ": ", source.space().describe(), ".\n# ", reason,
                ".\n# 'segre keys' lists every key; keys not listed here are those of the recipe for these data.\n",
                changed_keys(recipe, {Experiment(), recipe_on(torch::kCPU), recipe_on(torch::kCUDA)}));
}

void write_preview(OutputFile& file, const DataSource& source) {
  const int64_t count = source.n_items() > 0 ? std::min(kPreviewItems, source.n_items()) : kPreviewItems;
  const int64_t columns = source.space().image_part()->is_wide() ? 4 : 8;
  const std::string png = label_grid_png(source.space(), source.rows(0, count).clamp_min(0), columns);
  file.write([&](std::ostream& out) { out << png; });
  std::cerr << "wrote " << file.name() << ", " << count << " images\n";
}

void print(const InspectArguments& arguments, const DataSource& source) {
  const bool all = arguments.items == 0 || (arguments.items < 0 && source.dataset() != nullptr);
  if (all && source.n_items() == 0) fail_input(arguments.source, ": is endless; give the number of items");
  const int64_t most = all                    ? source.n_items()
                       : arguments.items > 0  ? arguments.items
                       : source.n_items() > 0 ? kFiniteLook
                                              : kEndlessLook;
  const SourceSummary summary = summarise(source, most);
  if (arguments.json) {
    std::cout << json_report(arguments, source, summary).dump(2) << "\n";
  } else {
    print_report(arguments, source, summary);
  }
}

}  // namespace

void inspect(const InspectArguments& arguments) {
  // Checks every output before the data are read.
  std::optional<OutputFolder> folder;
  if (!arguments.out.empty()) folder.emplace("--out", arguments.out);
  const auto in_folder = [&](const char* name) { return folder ? (folder->path() / name).string() : std::string(); };
  const std::string config_name = arguments.config.empty() ? in_folder("config.toml") : arguments.config;
  for (const auto& [option, name] :
       {std::pair("--config", arguments.config), std::pair("--preview", arguments.preview)})
    if (name == "-") fail_input(option, " -: expected a file; the report goes to standard output");
  std::optional<OutputFile> config;
  if (!config_name.empty()) config.emplace(arguments.config.empty() ? "--out" : "--config", config_name);
  std::optional<OutputFile> preview;
  if (!arguments.preview.empty()) preview.emplace("--preview", arguments.preview);

  const auto source = open_source(arguments.source);
  const bool image = source->space().is(PartKind::image);
  if (preview && !image)
    fail_input("--preview ", arguments.preview, ": pictures need image data; this is a ", source->space().describe());
  if (folder && !preview && image) preview.emplace("--out", in_folder("preview.png"));
  print(arguments, *source);
  if (preview) write_preview(*preview, *source);
  if (config) {
    const std::string text = starting_config(arguments, *source);
    config->write([&](std::ostream& out) { out << text; });
    std::cerr << "wrote " << config_name << "; next: segre train " << config_name << " --out run\n";
  } else {
    std::cerr << "for a " << (image ? "picture and a " : "") << "config to start from: segre data inspect "
              << shown_source(arguments) << " --out DIR\n";
  }
}

}  // namespace segre::cli
