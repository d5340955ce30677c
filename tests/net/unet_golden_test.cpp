#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "segre/io/files.h"
#include "segre/io/safetensors.h"
#include "segre/net/field.h"
#include "segre/net/net_kinds.h"
#include "segre/net/unet.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

// The UNet compared with tensors of the public implementation; tests/golden/make_unet_golden.py describes such files
// and makes them. SEGRE_GOLDEN names more files, separated by colons.

namespace segre::unet_golden_test {
namespace {

// Relative to the largest value of each tensor. A float32 rounds by 6e-8; a number here is the end of some twenty sums
// of up to 1,000 terms, whose roundings add up like a random walk: 6e-8 * sqrt(20 * 1,000) = 8e-6, and twice that for
// the largest of many. PyTorch in float32 is off by 3e-6.
constexpr double kTolerance = 2e-5;

struct Golden {
  Space space;
  NetOptions options;
  NamedTensors tensors;
};

nlohmann::json metadata_of(const std::string& file) {
  constexpr size_t kLengthBytes = 8;
  const std::string bytes = read_file(file);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return nlohmann::json::parse(bytes.substr(kLengthBytes, length)).at("__metadata__");
}

Golden read_golden(const std::string& file) {
  const auto metadata = metadata_of(file);
  // Every value is a string: a number, or a list of numbers.
  const auto value = [&](const char* key) { return nlohmann::json::parse(metadata.at(key).get<std::string>()); };
  EXPECT_EQ(value("time_scale"), 1000);
  const auto height = value("height").get<int64_t>();
  NetOptions options;
  options.kind = "unet";
  options.of<UNetOptions>().channels = value("base_channels");
  options.of<UNetOptions>().channel_mult = value("channel_mult").get<std::vector<int64_t>>();
  options.of<UNetOptions>().res_blocks = value("res_blocks");
  options.of<UNetOptions>().heads = value("heads");
  for (const int64_t shrink : value("attention_downsampling").get<std::vector<int64_t>>())
    options.of<UNetOptions>().attention_at.push_back(height / shrink);
  const auto space = Space::image(height, value("width").get<int64_t>(), value("channels_in_out"));
  return {space, options, read_safetensors(file)};
}

// [B, c, H, W] as the files have it to [B, H * W * c] and back.
torch::Tensor to_points(const torch::Tensor& image) { return image.permute({0, 2, 3, 1}).flatten(1).contiguous(); }
torch::Tensor to_image(const torch::Tensor& points, const torch::Tensor& like) {
  return points.view({like.size(0), like.size(2), like.size(3), like.size(1)}).permute({0, 3, 1, 2});
}

std::shared_ptr<Field> network_of(const Golden& golden) {
  auto field = make_field(golden.space, golden.options, 1);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : field->parameters()) {
    const auto stored = golden.tensors.find("state." + name);
    if (stored == golden.tensors.end()) {
      ADD_FAILURE() << "the file has no state." << name;
      continue;
    }
    EXPECT_EQ(parameter.sizes(), stored->second.sizes()) << name;
    if (parameter.sizes() == stored->second.sizes()) parameter.copy_(stored->second);
  }
  return field;
}

// The output and all gradients, by their names in the file.
NamedTensors run(const Golden& golden, torch::Device device = torch::kCPU) {
  const auto field = network_of(golden);
  field->to(device);
  const auto& image = golden.tensors.at("input.W");
  const auto W = to_points(image).to(device).requires_grad_(true);
  const auto output = field->forward({W, golden.tensors.at("input.t").to(device)});
  (output * to_points(golden.tensors.at("probe")).to(device)).sum().backward();
  NamedTensors found{{"output", to_image(output.detach(), image)}, {"grad.W", to_image(W.grad(), image)}};
  for (const auto& [name, parameter] : field->parameters()) found["grad." + name] = parameter.grad();
  return found;
}

double relative_error(const torch::Tensor& found, const torch::Tensor& wanted) {
  const auto apart = (found.cpu().to(torch::kFloat64) - wanted).abs().max();
  return (apart / wanted.abs().max()).item<double>();
}

// Every result the file stores, and its error.
std::map<std::string, double> errors_of(const Golden& golden, const NamedTensors& found) {
  std::map<std::string, double> errors;
  for (const auto& [name, wanted] : golden.tensors) {
    if (name != "output" && !name.starts_with("grad.")) continue;
    const auto entry = found.find(name);
    if (entry == found.end() || !entry->second.defined())
      ADD_FAILURE() << "nothing was computed for " << name;
    else
      errors[name] = relative_error(entry->second, wanted);
  }
  return errors;
}

std::string own_file() { return SEGRE_SOURCE_DIR "/tests/golden/unet_tiny.safetensors"; }

std::vector<std::string> all_files() {
  std::vector<std::string> files{own_file()};
  const char* more = std::getenv("SEGRE_GOLDEN");
  std::istringstream names(more != nullptr ? more : "");
  for (std::string name; std::getline(names, name, ':');)
    if (!name.empty()) files.push_back(name);
  return files;
}

void expect_reproduced(const std::string& file, torch::Device device) {
  SCOPED_TRACE(file);
  const auto golden = read_golden(file);
  const auto errors = errors_of(golden, run(golden, device));
  EXPECT_TRUE(errors.contains("output") && errors.contains("grad.W"));
  std::cout << file << "\n";
  for (const auto& [name, error] : errors) {
    std::cout << "  " << name << ": largest relative error " << error << "\n";
    EXPECT_LE(error, kTolerance) << name;
  }
}

TEST(UNetGolden, ParametersHaveThePublicNamesAndShapes) {
  for (const auto& file : all_files()) {
    SCOPED_TRACE(file);
    const auto golden = read_golden(file);
    const auto field = network_of(golden);  // checks that the file has each of ours
    size_t stored = 0;
    for (const auto& [name, tensor] : golden.tensors) stored += name.starts_with("state.") ? 1 : 0;
    EXPECT_EQ(field->parameters().size(), stored);
  }
}

TEST(UNetGolden, OutputAndGradientsAreReproduced) {
  const test::Threads one(1);
  for (const auto& file : all_files()) expect_reproduced(file, torch::kCPU);
}

TEST(UNetGolden, OutputAndGradientsAreReproduced_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const bool before = at::globalContext().allowTF32CuDNN();
  at::globalContext().setAllowTF32CuDNN(false);  // its 10 bits are not float32
  for (const auto& file : all_files()) expect_reproduced(file, torch::kCUDA);
  at::globalContext().setAllowTF32CuDNN(before);
}

// What the file must distinguish, or the test above shows little.
TEST(UNetGolden, AnotherTimeOrAnotherNumberOfHeadsIsFarOff) {
  const test::Threads one(1);
  auto later = read_golden(own_file());
  later.tensors["input.t"] += 0.01;
  EXPECT_GT(errors_of(later, run(later)).at("output"), 100 * kTolerance);
  auto split = read_golden(own_file());
  split.options.of<UNetOptions>().heads *= 2;
  EXPECT_GT(errors_of(split, run(split)).at("output"), 100 * kTolerance);
}

// Items of a batch are independent: the output of one does not depend on the others.
TEST(UNetGolden, EachItemIsWorkedOnAlone) {
  const test::Threads one(1);
  auto golden = read_golden(own_file());
  const auto together = run(golden).at("output");
  for (const char* name : {"input.W", "input.t", "probe"}) golden.tensors[name] = golden.tensors[name].slice(0, 1, 2);
  EXPECT_LE(relative_error(run(golden).at("output"), together.slice(0, 1, 2)), kTolerance);
}

}  // namespace
}  // namespace segre::unet_golden_test
