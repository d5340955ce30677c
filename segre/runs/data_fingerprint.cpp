#include "segre/runs/data_fingerprint.h"

#include <nlohmann/json.hpp>

#include "segre/data/source_name.h"
#include "segre/io/mapped_rows.h"
#include "segre/io/sha256.h"

namespace segre {
namespace {

void add(Sha256& hash, const std::string& text) {
  hash.add(text.data(), text.size());
  hash.add("", 1);  // terminator: "ab", "c" differs from "a", "bc"
}

void add(Sha256& hash, const torch::Tensor& tensor) {
  const auto packed = tensor.contiguous();
  for (const int64_t extent : packed.sizes()) add(hash, std::to_string(extent));
  for_each_part(packed, [&](const torch::Tensor& part, int64_t) { hash.add(part.const_data_ptr(), part.nbytes()); });
}

// The names of the variables and labels; colours and how missing values are written change nothing of the meaning.
std::string names_of(const Space& space) {
  auto json = space.to_json();
  json.erase("label_colours");
  if (json.contains("variables"))
    for (auto& variable : json["variables"]) variable.erase("missing_text");
  return json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

bool is_built_in(const std::string& name) { return !parse_source_name(name).has_target(); }

// Whether a source is identified by its contents; otherwise by its name.
bool told_by_contents(const DataSource& source, const std::string& name) {
  return source.dataset() != nullptr || (source.joint() != nullptr && !is_built_in(name));
}

}  // namespace

nlohmann::json DataFingerprint::to_json() const {
  return {{"items", n_items}, {"sha256", items}, {"held_out", n_held_out}, {"held_out_sha256", held_out}};
}

DataFingerprint DataFingerprint::from_json(const nlohmann::json& json) {
  return {json.at("items").get<int64_t>(), json.at("sha256").get<std::string>(), json.at("held_out").get<int64_t>(),
          json.at("held_out_sha256").get<std::string>()};
}

std::string fingerprint_of(const DataSource& source, const std::string& data) {
  Sha256 hash;
  add(hash, names_of(source.space()));
  if (!told_by_contents(source, data)) {
    add(hash, data);
  } else if (const Dataset* dataset = source.dataset()) {
    add(hash, dataset->mirror ? "mirrored" : "as they are");
    add(hash, dataset->labels);
  } else {
    add(hash, source.joint()->labelings);
    add(hash, source.joint()->p);
  }
  return hash.hex();
}

std::string held_out_fingerprint(const DataSource& source, const std::string& data, const std::string& validation,
                                 const torch::Tensor& held_out) {
  Sha256 hash;
  const bool by_name = validation.empty() ? !told_by_contents(source, data) : is_built_in(validation);
  if (by_name) {
    add(hash, validation.empty() ? data : validation);
  } else if (held_out.defined()) {
    add(hash, held_out.to(torch::kCPU, torch::kInt64));
  }
  return hash.hex();
}

DataFingerprint fingerprint_of(const DataSource& source, const std::string& data, const std::string& validation,
                               const torch::Tensor& held_out) {
  return {source.n_items(), fingerprint_of(source, data), held_out.defined() ? held_out.size(0) : 0,
          held_out_fingerprint(source, data, validation, held_out)};
}

}  // namespace segre
