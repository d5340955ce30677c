// Writes the inputs that fuzzing starts from: fuzz_seeds DIR writes DIR/TARGET/NAME for every target.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fuzz/samples.h"
#include "segre/core/error.h"
#include "segre/io/files.h"
#include "segre/io/png.h"
#include "segre/net/latent_class.h"
#include "segre/net/mlp.h"
#include "segre/net/unet.h"
#include "segre/runs/run_directory.h"
#include "tests/support/archives.h"

namespace {

using namespace segre;
namespace fs = std::filesystem;

class Corpus {
 public:
  Corpus(const fs::path& root, const std::string& target) : folder_(root / target) { fs::create_directories(folder_); }
  void add(const std::string& bytes) { std::ofstream(folder_ / concat("seed-", number_++), std::ios::binary) << bytes; }
  void add(int choice, const std::string& bytes) { add(static_cast<char>(choice) + bytes); }

 private:
  fs::path folder_;
  int number_ = 0;
};

// The files of a run that was never trained.
struct RunFiles {
  std::string config;
  std::string model;
  std::string tensors;
};

std::string config_of(Experiment experiment) {
  std::string text;
  std::istringstream all(schema_of(experiment).to_toml(/*with_help=*/false));
  for (std::string line; std::getline(all, line);) {
    const std::string key = line.substr(0, line.find(' '));
    for (const char* wanted : {"[net]", "[train]", "[data]", "source", "kind", "hidden", "classes", "batch_norm",
                               "time_features", "channels", "channel_mult", "res_blocks", "ema"})
      if (key == wanted) text += line + "\n";
  }
  // [path] also has a kind, which keeps its default.
  const size_t path = text.find("kind = \"e-geodesic\"\n");
  if (path != std::string::npos) text.erase(path, std::string("kind = \"e-geodesic\"\n").size());
  return text;
}

RunFiles run_of(const Experiment& experiment, const Space& space) {
  fuzz::Folder folder;
  const RunDirectory run(folder.path());
  run.create();
  const Model model = make_model(experiment, space, torch::kCPU);
  NamedTensors state = named_weights(model.field(), /*averaged=*/true);
  for (const auto& name : TimeLaw::state_names()) state[name] = torch::ones({TimeLaw::kBins}, torch::kFloat64);
  run.save(1, state, space, experiment);
  // Only a few keys, since short seeds run faster.
  const std::string config = config_of(experiment);
  auto description = nlohmann::json::parse(read_file(*run.latest() / "model.json"));
  description["config"] = "@CONFIG@";  // see run.cpp
  return {config, description.dump(), read_file(*run.latest() / "model.safetensors")};
}

std::string sections_of(const RunFiles& files) {
  uint64_t length = 0;
  std::memcpy(&length, files.tensors.data(), sizeof length);
  const std::string mark = "\n====\n";
  return files.config + mark + files.model + mark + files.tensors.substr(8, length) + mark +
         files.tensors.substr(8 + length);
}

Experiment tiny(const std::string& kind) {
  Experiment e;
  e.data = "coupled";
  e.net.kind = kind;
  e.net.of<MlpOptions>().hidden = {2};
  e.net.of<LatentClassOptions>().classes = 2;
  e.net.time_features = 1;
  e.net.of<UNetOptions>().channels = 32;
  e.net.of<UNetOptions>().channel_mult = {1};
  e.net.of<UNetOptions>().res_blocks = 1;
  return e;
}

void runs(const fs::path& root) {
  Corpus corpus(root, "run");
  Corpus tensors(root, "tensors");
  const Space table = Space::table({{"a", 2, {"x", "y"}}, {"b", 3, {}}});
  const Space image = Space::image(2, 2, 2, {{"no", "yes"}, {{0, 0, 0}, {255, 255, 255}}});
  Experiment normed = tiny("mlp");
  normed.net.of<MlpOptions>().batch_norm = true;
  normed.train.adam.ema = 0.0;
  for (const auto& [experiment, space] :
       {std::pair{tiny("mlp"), table}, {tiny("latent_class"), table}, {tiny("linear"), image}, {normed, table}}) {
    const RunFiles files = run_of(experiment, space);
    corpus.add(sections_of(files));
    tensors.add(files.tensors);
  }
  // A UNet's weights would make too large a file; it is planned and refused.
  RunFiles planned = run_of(tiny("linear"), image);
  planned.config = config_of(tiny("unet"));
  corpus.add(sections_of(planned));
}

void tables(const fs::path& root) {
  Corpus corpus(root, "table");
  for (int choice = 0; choice < 13; ++choice) corpus.add(choice, fuzz::sample_csv());
  for (const int choice : {7, 8, 9, 10, 11})
    corpus.add(choice, "a,b,c\n1.5,x,1970-01-01\n\"[1, 2.5)\",y,1970-01-02 12:30\n,z,1969-12-31T23:59:59\n-1e3,?,1\n");
  corpus.add(12, fuzz::sample_joint());
  corpus.add(0, test::gzip_bytes(fuzz::sample_csv()));
  corpus.add(2,
             "\xef\xbb\xbf"
             "a;b\r\n\"x\";\"y\"\"\"\r\n");
  corpus.add(12, "a,p\nx,1\n");
}

void pictures(const fs::path& root) {
  Corpus corpus(root, "picture");
  for (const int choice : {0, 1}) corpus.add(choice, fuzz::sample_png());
  corpus.add(0, test::grey_png({1, 0, 0, 1}, 2, 2, 1));
  corpus.add(0, test::grey_png({1, 500, 0, 65535}, 2, 2, 16));
  corpus.add(0, encode_png_palette({0, 1, 1, 2}, 2, 2, {{0, 0, 0}, {255, 0, 0}, {0, 0, 255}}));
  corpus.add(0, encode_png_rgb({{0, 1, 2}}, 1, 1));
  for (const int choice : {2, 3}) corpus.add(choice, fuzz::sample_zip());
}

void maps(const fs::path& root) {
  Corpus corpus(root, "maps");
  const std::string mark = "\n====\n";
  const std::string palette = encode_png_palette({0, 1, 1, 2}, 2, 2, {{0, 0, 0}, {255, 0, 0}, {0, 0, 255}});
  for (const char* options : {"ignore=255&flip=1", "labels=3&limit=1", "map=0:0,1:1,2:0&height=2&width=2",
                              "ignore=0&map=1:1,2:0,255:3", "split=train&height=2&width=2"})
    for (const std::string& png : {palette, test::grey_png({0, 7, 2, 1}, 2, 2)})
      corpus.add(options + mark + png + mark + png);
}

void arrays(const fs::path& root) {
  Corpus corpus(root, "array");
  for (int choice = 0; choice < 3; ++choice) corpus.add(choice, fuzz::sample_npy());
  for (int choice = 3; choice < 6; ++choice) corpus.add(choice, fuzz::sample_idx());
  corpus.add(0, test::gzip_bytes(fuzz::sample_npy()));
  corpus.add(3, test::gzip_bytes(fuzz::sample_idx()));
  for (const char* type : {"'<i8'", "'>u2'", "'<u4'", "'<u8'", "'|b1'", "'>i4'"})
    corpus.add(0, test::npy_bytes(type, "(1, 1)", std::string(type[2] == '|' ? 1 : type[3] - '0', '\0')));
  corpus.add(0, test::npy_bytes("'|u1'", "(2, 3)", std::string("\0\1\2\1\0\1", 6), /*fortran=*/true));
}

void configs(const fs::path& root) {
  Corpus corpus(root, "config");
  Experiment experiment;
  corpus.add(0, schema_of(experiment).to_toml(false));
  corpus.add(0, "seed = 1\n[train]\nlr = 1e-3\nbatch = 0x10\n[net]\nhidden = [1, 2]\nkind = \"mlp\"\n");
  corpus.add(0, "train.steps = 1_000\npath.eps = nan\n");
  corpus.add(0, "data = { source = 'csv:a.csv', holdout = 0.1 }\n[[x]]\ny = 1979-05-27T07:32:00Z\n");
  for (const char* set : {"seed=7", "net.hidden=[8, 8]", "data.source=csv:a.csv?columns=a,b", "train.clip=1e400"})
    corpus.add(1, set);
  for (const char* name :
       {"csv:a?columns=a,b&missing=refuse", "csv:a?without=c&delimiter=comma&max_labels=3&limit=2", "joint:a",
        "coupled", "glyphs?pad=2&classes=3,8&seed=1", "streets?height=8&width=16&seed=3", "npy:a?labels=3&limit=1",
        "idx:a?threshold=9&pad=1&classes=1,2&height=2&width=3", "omniglot:a?size=4&threshold=50&pad=1&invert=1"})
    corpus.add(2, name);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds DIR\n");
    return 2;
  }
  const fs::path root = argv[1];
  runs(root);
  tables(root);
  pictures(root);
  maps(root);
  arrays(root);
  configs(root);
  return 0;
}
