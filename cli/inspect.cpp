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
#include "segre/core/utf8.h"
#include "segre/data/source_summary.h"
#include "segre/io/output.h"
#include "segre/read/table_report.h"
#include "segre/recipes/recipe.h"
#include "segre/report/picture.h"
#include "segre/sources/source_kinds.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kEndlessLook = 1000;    // items examined of an endless source
constexpr int64_t kFiniteLook = 100'000;  // of other sources, unless they are in memory: then all
constexpr int64_t kPreviewItems = 64;
constexpr size_t kWidestName = 24;  // of a column, beyond which the others are not moved
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

const char* name_of(ColumnReport::Use use) {
  return use == ColumnReport::Use::labels   ? "labels"
         : use == ColumnReport::Use::levels ? "levels"
         : use == ColumnReport::Use::bins   ? "bins"
                                            : "left out";
}

// What training does with a column, in a line.
std::string describe(const ColumnReport& column) {
  using Use = ColumnReport::Use;
  std::ostringstream out;
  if (column.use == Use::left_out) {
    out << column.why;
  } else if (column.use == Use::labels) {
    out << column.n_labels << (column.n_labels == 1 ? " label, " : " labels, most common ") << column.common << " ("
        << percent(column.common_share) << ")";
  } else {
    out << plural(column.called) << " from " << column.least << " to " << column.most << ", ";
    if (column.use == Use::bins) {
      out << "in " << column.n_labels << " bins";
    } else {
      out << column.n_different << " different";
    }
  }
  if (column.missing_share > 0.0 && column.n_different > 0) {
    out << ", missing " << percent(column.missing_share);
    if (!column.missing_text.empty()) out << " (" << printable(column.missing_text) << ")";
  }
  if (column.use != Use::labels && !column.example.empty()) out << ", such as " << printable(column.example);
  return out.str();
}

// What training does with the columns of a table.
void print_columns(const TableReport& report) {
  size_t width = 0;
  for (const ColumnReport& column : report.columns)
    width = std::max(width, std::min(kWidestName, n_characters(column.name)));
  std::cout << "columns, and what training makes of them\n";
  for (const ColumnReport& column : report.columns) {
    const std::string name = printable(column.name);
    const size_t gap = width + 2 - std::min(width, n_characters(name));
    std::cout << "  " << name << std::string(gap, ' ') << std::setw(10) << std::left << name_of(column.use)
              << std::right << describe(column) << "\n";
  }
}

// What is inspected: a source and, of a table in a file, how it is read; a table of which nothing can be learned has no
// source.
struct Inspected {
  std::shared_ptr<DataSource> source;
  std::optional<TableReport> table;
};

Inspected open(const std::string& text) {
  const SourceName name = parse_source_name(text);
  if (name.kind() != "csv" || name.has("cache")) return {open_source(text), std::nullopt};  // a cache has labels alone
  require_known_options(name);
  TableReport report = report_csv_table(name);
  std::shared_ptr<DataSource> source = report.data ? make_dataset_source(std::move(*report.data)) : nullptr;
  return {std::move(source), std::move(report)};
}

void print_report(const InspectArguments& arguments, const Inspected& inspected, const SourceSummary& summary) {
  const DataSource& source = *inspected.source;
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
  if (inspected.table) {
    print_columns(*inspected.table);
  } else {
    print_columns(summary);
  }
}

nlohmann::json json_columns(const TableReport& report) {
  auto columns = nlohmann::json::array();
  for (const ColumnReport& column : report.columns) {
    nlohmann::json json{{"name", column.name},
                        {"use", name_of(column.use)},
                        {"different", column.n_different},
                        {"missing_share", column.missing_share},
                        {"missing_text", column.missing_text},
                        {"example", column.example}};
    if (column.use == ColumnReport::Use::left_out) {
      json["why"] = column.why;
    } else {
      json["labels"] = column.n_labels;
      json["common"] = column.common;
      json["common_share"] = column.common_share;
    }
    if (column.use == ColumnReport::Use::levels || column.use == ColumnReport::Use::bins) {
      json["values"] = plural(column.called);
      json["least"] = column.least;
      json["most"] = column.most;
    }
    columns.push_back(std::move(json));
  }
  return columns;
}

// A table of which nothing can be learned.
void print_nothing(const InspectArguments& arguments, const TableReport& report) {
  if (arguments.json) {
    const nlohmann::json json{{"source", arguments.source},
                              {"items", report.n_rows},
                              {"columns", json_columns(report)},
                              {"nothing", report.nothing}};
    std::cout << json.dump(2) << "\n";
    return;
  }
  std::cout << "source     " << arguments.source << "\nitems      " << report.n_rows << "\n";
  print_columns(report);
  std::cerr << report.nothing << "\n";
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

void print(const InspectArguments& arguments, const Inspected& inspected) {
  const DataSource& source = *inspected.source;
  const bool all = arguments.items == 0 || (arguments.items < 0 && source.dataset() != nullptr);
  if (all && source.n_items() == 0) fail_input(arguments.source, ": is endless; give the number of items");
  const int64_t most = all                    ? source.n_items()
                       : arguments.items > 0  ? arguments.items
                       : source.n_items() > 0 ? kFiniteLook
                                              : kEndlessLook;
  const SourceSummary summary = summarise(source, most);
  if (arguments.json) {
    nlohmann::json json = json_report(arguments, source, summary);
    if (inspected.table) json["columns"] = json_columns(*inspected.table);
    std::cout << json.dump(2) << "\n";
  } else {
    print_report(arguments, inspected, summary);
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

  const Inspected inspected = open(arguments.source);
  if (inspected.source == nullptr) return print_nothing(arguments, *inspected.table);
  const auto& source = inspected.source;
  const bool image = source->space().is(PartKind::image);
  if (preview && !image)
    fail_input("--preview ", arguments.preview, ": pictures need image data; this is a ", source->space().describe());
  if (folder && !preview && image) preview.emplace("--out", in_folder("preview.png"));
  print(arguments, inspected);
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
