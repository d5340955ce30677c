#pragma once

#include <nlohmann/json_fwd.hpp>

#include "segre/data/source.h"

namespace segre {

/// Tells the data of a run from others, wherever they are kept: what a checkpoint knows of what it learned from.
struct DataFingerprint {
  int64_t n_items = 0;     ///< of data.source, held-out ones included; 0: without end
  std::string items;       ///< SHA-256 of the variables with their names, and of the labels, in hexadecimal digits
  int64_t n_held_out = 0;  ///< items a validation looks at
  std::string held_out;    ///< SHA-256 of their labels, or of the name of a built-in source

  /// As model.json keeps it, and back; from_json throws nlohmann's exceptions.
  nlohmann::json to_json() const;
  static DataFingerprint from_json(const nlohmann::json& json);
  bool operator==(const DataFingerprint&) const = default;
};

/// The fingerprint of a source named `data` and of the items held out, [K, n] int64 or undefined, which come from the
/// source named `validation` or, if that is empty, from the data themselves. Items in memory are told by their labels
/// and the table of a joint file by its labelings and probabilities, so that a file may move. What is built in is told
/// by its name with its options: its numbers may differ in their last bits from machine to machine.
DataFingerprint fingerprint_of(const DataSource& source, const std::string& data, const std::string& validation,
                               const torch::Tensor& held_out);

/// SHA-256 of the source alone, as in DataFingerprint::items.
std::string fingerprint_of(const DataSource& source, const std::string& data);

}  // namespace segre
