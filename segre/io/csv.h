#pragma once

#include <filesystem>
#include <functional>
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

/// All rows of a comma-separated file, read and checked by CsvReader; InputError if there are none.
std::vector<CsvRow> read_csv(const std::filesystem::path& path, TextEncoding encoding = TextEncoding::utf8);

/// Quotes a field if necessary.
std::string csv_field(const std::string& text, char delimiter = ',');

/// How binned labels become numbers and dates again: each is drawn within its bin, from the stream at item number
/// `first_item` + row, so that it does not depend on how many rows are written together.
struct BinValues {
  RandomStream random;
  uint64_t first_item = 0;
};

/// The labels [N] int64 of one variable as texts: their names or, if `within` is set, values in the bins of those that
/// represent bins, within(row) in [0, 1) saying where in the bin.
std::vector<std::string> label_texts(const Space& space, int64_t variable, const torch::Tensor& labels,
                                     const std::function<double(int64_t row)>& within = {});

/// Writes labels [B, n] int64 as rows of label names, after a header of variable names if `with_header`. With `values`,
/// binned labels are written as values in their bins. Missing values are written as in the data: Space::missing_text.
/// InputError as in check_labels.
void write_labels_csv(std::ostream& out, const Space& space, const torch::Tensor& labels, bool with_header,
                      const std::optional<BinValues>& values = std::nullopt);

}  // namespace segre
