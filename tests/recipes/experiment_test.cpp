#include "segre/recipes/experiment.h"

#include <fstream>

#include "segre/io/files.h"
#include "segre/net/mlp.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/net/unet.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/ray.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::experiment_test {
namespace {

using test::input_error;

// A non-default value for every key.
const char* const kOther = R"(seed = 5

[data]
source = "mixture"
validation = "pinwheel"
holdout = 0.125

[path]
kind = "ray"
eps = 0.02
rate = 0.75

[model]
form = "velocity"

[net]
kind = "linear"
hidden = [3, 4]
batch_norm = true
input_gain = 2.5
classes = 9
blocks = 5
block_width = 96
tree = true
layers = 6
width = 40
token_heads = 5
channels = 64
channel_mult = [1, 3]
res_blocks = 3
attention_at = [8, 16]
heads = 2
time_features = 3
dropout = 0.375
standardised = false
precision = "float32"
custom = "mine"

[train]
objective = "metric"
time_law = "uniform"
reweight = true
evidence = "known"
evidence_known = 0.625
evidence_own_times = 0.375
evidence_erased = 0.875
steps = 17
epochs = 6
fill_holes = false
batch = 19
shards = 16
reduce = "bfloat16"
lr = 0.001
warmup = 7
schedule = "constant"
beta1 = 0.8
beta2 = 0.95
adam_eps = 1e-06
ema = 0.5
clip = 1.5

[watch]
every = 21
items = 22
evaluations = 77
grid = 23
keep = 24
save_seconds = 12.5
patience = 13
use_best = true
tensorboard = true

[sample]
sampler = "heun"
steps = 11
stop = "end"
t1 = 0.25
readout = "matched"
tolerance = 0.0001
order = "confidence"
precision = "trained"
)";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Experiment, EveryKeyIsReadAndPrintedBack) {
  Experiment e;
  auto schema = schema_of(e);
  schema.read_text(kOther, "other.toml");
  EXPECT_EQ(schema.to_toml(false), kOther);
}

TEST(Experiment, TheTestAboveChangesEveryKey) {
  // Guards the test above: a key added to the schema must be added there, with a non-default value.
  Experiment e;
  const auto defaults = lines_of(schema_of(e).to_toml(false));
  const auto others = lines_of(kOther);
  ASSERT_EQ(defaults.size(), others.size());
  for (size_t k = 0; k < defaults.size(); ++k) {
    const bool has_value = defaults[k].find(" = ") != std::string::npos;
    EXPECT_EQ(defaults[k] != others[k], has_value) << defaults[k];
  }
}

TEST(Experiment, DefaultsReadBackAsThemselves) {
  Experiment e;
  const auto text = schema_of(e).to_toml(true);
  Experiment copy;
  schema_of(copy).read_text(text, "copy.toml");
  EXPECT_EQ(schema_of(copy).to_toml(true), text);
}

TEST(Experiment, KeysReachWhatTheyAreNamedAfter) {
  Experiment e;
  schema_of(e).read_text(kOther, "other.toml");
  EXPECT_EQ(e.seed, 5);
  EXPECT_EQ(e.data, "mixture");
  EXPECT_EQ(e.validation, "pinwheel");
  EXPECT_EQ(e.holdout, 0.125);
  EXPECT_EQ(e.path.kind, "ray");
  EXPECT_EQ(e.net.of<MlpOptions>().hidden, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(e.net.of<ResidualOptions>().blocks, 5);
  EXPECT_EQ(e.net.of<ResidualOptions>().width, 96);
  EXPECT_EQ(e.net.of<TransformerOptions>().layers, 6);
  EXPECT_EQ(e.net.of<TransformerOptions>().width, 40);
  EXPECT_EQ(e.net.of<TransformerOptions>().heads, 5);
  EXPECT_EQ(e.net.of<UNetOptions>().channel_mult, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(e.net.of<UNetOptions>().attention_at, (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(e.net.dropout, 0.375);
  EXPECT_FALSE(e.net.standardised);
  EXPECT_EQ(e.net.precision, NetPrecision::float32);
  EXPECT_EQ(e.train.epochs, 6);
  EXPECT_EQ(e.train.adam.clip, 1.5);
  EXPECT_EQ(e.watch.every, 21);
  EXPECT_EQ(e.watch.evaluations, 77);
  EXPECT_EQ(e.watch.keep, 24);
  EXPECT_EQ(e.watch.save_seconds, 12.5);
  EXPECT_EQ(e.watch.patience, 13);
  EXPECT_TRUE(e.watch.use_best);
  EXPECT_EQ(e.train.schedule.lr, 0.001);
  EXPECT_EQ(e.train.adam.beta1, 0.8);
  EXPECT_EQ(e.train.adam.beta2, 0.95);
  EXPECT_EQ(e.sample.t1, 0.25);
  EXPECT_EQ(e.sample.readout, Readout::matched);
  EXPECT_EQ(e.sample.tolerance, 1e-4);
}

TEST(Experiment, ASchemaStaysBoundWhenItsExperimentIsAssigned) {
  Experiment e;
  auto schema = schema_of(e);
  const std::string defaults = schema.to_toml(false);
  schema.read_text(kOther, "other.toml");
  e = Experiment();
  EXPECT_EQ(schema.to_toml(false), defaults);
  schema.set("net.hidden=[7]");
  schema.set("path.rate=0.25");
  EXPECT_EQ(e.net.of<MlpOptions>().hidden, std::vector<int64_t>{7});
  EXPECT_EQ(e.path.of<RayOptions>().rate, 0.25);
}

TEST(Experiment, PathsAreBuiltAsConfigured) {
  PathOptions options;
  options.of<EGeodesicOptions>().eps = 0.02;
  options.of<RayOptions>().rate = 0.75;
  EXPECT_EQ(make_path(options)->t_end(), 1.0);
  EXPECT_EQ(make_path(options)->corner_scale(2), make_e_geodesic(0.02)->corner_scale(2));
  options.kind = "ray";
  EXPECT_EQ(make_path(options)->at(2.0).a, 1.5);
  options.kind = "line";
  EXPECT_EQ(test::input_error([&] { make_path(options); }), "path.kind 'line' is not one of e-geodesic, ray");
  EXPECT_EQ(test::input_error([&] { net_kind("forest"); }),
            "net.kind 'forest' is not one of linear, mlp, latent_class, tree, residual, transformer, unet");
}

TEST(Experiment, TheSeedDecidesTheWeights) {
  Experiment e;
  const auto weights = [&](int64_t seed) {
    e.seed = seed;
    return make_model(e, test::mixed_space(), torch::kCPU).field().parameters().back().second;
  };
  EXPECT_TRUE(torch::equal(weights(1), weights(1)));
  EXPECT_FALSE(torch::equal(weights(1), weights(2)));
}

TEST(Experiment, NetworksThatSendMessagesAreRefusedInAnotherForm) {
  for (const std::string kind : {"latent_class", "tree", "residual", "transformer"}) {
    Experiment e;
    e.net.kind = kind;
    e.form = Form::endpoint;
    EXPECT_EQ(input_error([&] { make_model(e, test::mixed_space(), torch::kCPU); }),
              "net.kind = \"" + kind + "\" gives messages between variables and needs model.form = \"evidence\"");
  }
}

TEST(Experiment, EveryConfigThatIsShippedParses) {
  namespace fs = std::filesystem;
  for (const char* folder : {"configs", "configs/paper"})
    for (const auto& entry : fs::directory_iterator(fs::path(SEGRE_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".toml") continue;
      Experiment e;
      EXPECT_EQ(input_error([&] { schema_of(e).read_file(entry.path()); }), "");
    }
}

}  // namespace
}  // namespace segre::experiment_test
