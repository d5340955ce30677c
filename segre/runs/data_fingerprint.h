#pragma once  // internal

#include <nlohmann/json_fwd.hpp>

#include "segre/data/source.h"

namespace segre {

/// Identifies the data of a run, wherever they are stored. Saved in checkpoints.
struct DataFingerprint {
  int64_t n_items = 0;     ///< of data.source, including held-out ones; 0: endless
  std::string items;       ///< SHA-256 of the variables with their names, and of the labels, in hexadecimal digits
  int64_t n_held_out = 0;  ///< items used for validation
  std::string held_out;    ///< SHA-256 of their labels, or of the name of a built-in source

  /// Conversion to and from model.json; from_json throws nlohmann's exceptions.
  nlohmann::json to_json() const;
  static DataFingerprint from_json(const nlohmann::json& json);
  bool operator==(const DataFingerprint&) const = default;
};

/// The fingerprint of the source named `data` and of the held-out items, [K, n] int64 or undefined, which come from the
/// source named `validation` or, if that is empty, from the data themselves. Items in memory are identified by their
/// labels and a joint file by its labelings and probabilities, so files may move. Built-in sources are identified by
/// name and options, since their numbers may differ in the last bits between machines.
DataFingerprint fingerprint_of(const DataSource& source, const std::string& data, const std::string& validation,
                               const torch::Tensor& held_out);

/// SHA-256 of the held-out items only, as in DataFingerprint::held_out.
std::string held_out_fingerprint(const DataSource& source, const std::string& data, const std::string& validation,
                                 const torch::Tensor& held_out);

/// SHA-256 of the source only, as in DataFingerprint::items.
std::string fingerprint_of(const DataSource& source, const std::string& data);

}  // namespace segre
