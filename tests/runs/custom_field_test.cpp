#include "segre/recipes/custom_field.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"

#include "tests/runs/custom.h"
#include "tests/runs/trained.h"
#include "tests/support/heard_log.h"
#include "tests/support/messages.h"

namespace segre::custom_field_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::Threads;
using test::tiny_experiment;
using test::train_into;
using test::two_layers;

const char* const kNotHere =
    "a network that another program supplies and segre does not have; that program can load it "
    "(CustomField in C++, field= in Python)";

TrainRunOptions with_field(const CustomField& field, bool resume = false) {
  TrainRunOptions options;
  options.field = field;
  options.resume = resume;
  return options;
}

fs::path custom_run(const ScratchFolder& folder) {
  return train_into(folder / "run", tiny_experiment(), with_field(two_layers()));
}

std::string final_state(const fs::path& run) { return read_file(test::tensors_of(run)); }

TEST(CustomField, IsTrainedSavedAndLoadedAgain) {
  const ScratchFolder folder;
  const auto path = custom_run(folder);
  const auto run = load_run(path, torch::kCPU, two_layers());
  EXPECT_EQ(run.step, 12);
  EXPECT_EQ(run.experiment.custom_net, "two-layers");
  EXPECT_NE(dynamic_cast<test::TwoLayers*>(&run.model.field()), nullptr);
  const auto state = read_safetensors(test::tensors_of(path));
  ASSERT_EQ(run.model.field().parameters().size(), 2u);
  for (const auto& [name, weight] : run.model.field().parameters())
    EXPECT_TRUE(torch::equal(weight, state.at("ema." + name))) << name;
  EXPECT_GT(state.at("ema.out").abs().max().item<double>(), 0.0) << "it has learned something";
  EXPECT_EQ(Sampler(run.model, run.experiment.sample, 1).draw(0, 10).labels.size(0), 10);
}

TEST(CustomField, TheConfigSaysSoAndNothingOfTheNetworksOfSegre) {
  const ScratchFolder folder;
  const auto path = custom_run(folder);
  Experiment kept;
  schema_of(kept).read_file(RunDirectory(path).config());
  EXPECT_EQ(kept.custom_net, "two-layers");
  EXPECT_EQ(kept.net.of<MlpOptions>().hidden, NetOptions().of<MlpOptions>().hidden) << "the experiment asked for [8]";
}

TEST(CustomField, ARunOfItCannotBeLoadedWithoutIt) {
  const ScratchFolder folder;
  const auto path = custom_run(folder);
  const std::string file = test::description_of(path).string();
  EXPECT_EQ(input_error([&] { load_run(path, torch::kCPU); }), file + ": net.custom = \"two-layers\": " + kNotHere);
  EXPECT_EQ(input_error([&] { load_run(path, torch::kCPU, two_layers("other")); }),
            file + ": net.custom = \"two-layers\": the given network is called \"other\"");
  EXPECT_TRUE(contains(input_error([&] { load_run(path, torch::kCPU, two_layers("two-layers", 7)); }),
                       "in has shape [6, 4], the model that model.json describes has [7, 4]"));
}

TEST(CustomField, ARunOfSegresOwnNetworksTakesNone) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  EXPECT_EQ(input_error([&] { load_run(path, torch::kCPU, two_layers()); }),
            test::description_of(path).string() + ": net.custom = \"\": the given network is called \"two-layers\"");
}

// Such as one with batch normalisation: the draws that fill a hole would depend on the other items.
TEST(CustomField, ThatCouplesItemsLeavesHolesOutAndSaysSo) {
  class Coupling final : public Field {
   public:
    explicit Coupling(const Space& space) : scale_(add_parameter("scale", torch::zeros({space.n_coordinates()}))) {
      add_buffer("mean", torch::zeros({1}));
    }
    torch::Tensor forward(const FieldInput& input) override { return input.W * scale_; }
    int64_t n_activations() const override { return scale_.numel(); }

   private:
    torch::Tensor scale_;
  };
  const Threads one(1);
  const ScratchFolder folder;
  test::write_text(folder / "t.csv", "a,b\n0,0\n1,\n0,1\n1,1\n");
  Experiment e = tiny_experiment();
  e.data = "csv:" + (folder / "t.csv").string() + "?missing=unknown";
  e.train.evidence.kind = EvidenceKind::any;
  test::HeardLog log;
  const auto make = [](const Space& space, uint64_t /*seed*/) { return std::make_shared<Coupling>(space); };
  train_run(e, RunDirectory(folder / "run"), with_field({"coupling", make}));
  EXPECT_TRUE(contains(log.text(),
                       "note: missing cells are left out of this training instead of filled, since items "
                       "of a batch influence each other in this network"));
  train_run(e, RunDirectory(folder / "other"), with_field(two_layers()));
  EXPECT_EQ(log.text(), "");
}

TEST(CustomField, ResumesToTheSameBits) {
  const Threads one(1);
  const ScratchFolder folder;
  const auto whole = custom_run(folder);
  auto options = with_field(two_layers());
  int64_t steps = 0;
  options.callbacks.stop = [&] { return ++steps > 5; };
  const RunDirectory part(folder / "part");
  EXPECT_EQ(train_run(tiny_experiment(), part, options).steps, 5);
  EXPECT_EQ(train_run(tiny_experiment(), part, with_field(two_layers(), /*resume=*/true)).steps, 12);
  EXPECT_TRUE(final_state(part.path()) == final_state(whole));
}

TEST(CustomField, ResumesUnderItsOwnNameOnly) {
  const Threads one(1);
  const ScratchFolder folder;
  const auto path = custom_run(folder);
  const auto refusal = [&](const CustomField& field) {
    return input_error([&] { train_run(tiny_experiment(), RunDirectory(path), with_field(field, /*resume=*/true)); });
  };
  EXPECT_TRUE(contains(refusal(two_layers("other")), "net.custom is \"other\" now and was \"two-layers\""));
  EXPECT_TRUE(contains(refusal({}), "net.custom is \"\" now and was \"two-layers\""));
}

TEST(CustomField, NeedsANameAndANetwork) {
  const Threads one(1);
  const ScratchFolder folder;
  const auto refusal = [&](const CustomField& field) {
    return input_error([&] { train_run(tiny_experiment(), RunDirectory(folder / "run"), with_field(field)); });
  };
  EXPECT_EQ(refusal(two_layers("")), "a custom network needs a name, which checkpoints store; found none");
  EXPECT_EQ(refusal(two_layers("na\xefve")), "the network's name na\\xefve is not UTF-8, as a config must be");
  EXPECT_EQ(refusal({"none", [](const Space&, uint64_t) { return nullptr; }}), "a model needs a network, found none");
  Experiment e = tiny_experiment();
  e.custom_net = "elsewhere";
  EXPECT_EQ(input_error([&] { train_run(e, RunDirectory(folder / "run"), {}); }),
            std::string("net.custom = \"elsewhere\": ") + kNotHere);
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(CustomField, IsExportedWithItsName) {
  const ScratchFolder folder;
  const auto path = custom_run(folder);
  EXPECT_NE(input_error([&] { export_run(path, folder / "small", Checkpoint::last); }), "");
  export_run(path, folder / "small", Checkpoint::last, two_layers());
  const auto small = load_run(folder / "small", torch::kCPU, two_layers());
  const auto whole = load_run(path, torch::kCPU, two_layers());
  EXPECT_TRUE(torch::equal(small.model.field().parameters()[1].second, whole.model.field().parameters()[1].second));
}

}  // namespace
}  // namespace segre::custom_field_test
