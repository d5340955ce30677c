#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "segre/core/rng.h"
#include "segre/core/utf8.h"
#include "segre/space/space.h"

namespace segre {

/// One line of a CSV file: its number, counted from 1, and its fields.
struct CsvRow {
  int64_t line = 0;
  std::vector<std::string> fields;
};

/// All rows of a comma-separated file, as CsvReader reads and refuses them; InputError where there is none.
std::vector<CsvRow> read_csv(const std::filesystem::path& path, TextEncoding encoding = TextEncoding::utf8);

/// Quotes a field where it needs it.
std::string csv_field(const std::string& text);

/// How labels that stand for intervals become numbers and dates again: each is drawn within its bin, for item number
/// `first_item` + row from the stream, so that it does not depend on how many rows are written together.
struct BinValues {
  RandomStream random;
  uint64_t first_item = 0;
};

/// Writes labels [B, n] int64 as rows of label names, the header of variable names first where `with_header`. With
/// `values`, labels with bins are written as values of theirs. InputError as check_labels.
void write_labels_csv(std::ostream& out, const Space& space, const torch::Tensor& labels, bool with_header,
                      const std::optional<BinValues>& values = std::nullopt);

}  // namespace segre
