// What --resume refuses and what it allows.

#include "segre/runs/resume.h"

#include <set>

#include "segre/core/text.h"
#include "segre/sources/source_kinds.h"
#include "tests/runs/trained.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"

namespace segre::resume_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::edit_description;
using test::edit_tensors;
using test::input_error;
using test::ScratchFolder;
using test::tensors_of;
using test::Threads;
using test::tiny_experiment;
using test::train_into;
using test::write_text;

const char* const kEnd =
    " when the checkpoint was made; resuming continues the same run, another directory starts a new one";

TrainRunOptions resuming(std::shared_ptr<DataSource> source = nullptr) {
  TrainRunOptions options;
  options.resume = true;
  options.source = std::move(source);
  return options;
}

// The message that refuses to resume, without the run's name; the run must be unchanged.
std::string refused(const fs::path& run, const Experiment& e, std::shared_ptr<DataSource> source = nullptr) {
  const Threads one(1);
  const auto config = read_file(run / "config.toml");
  const auto tensors = read_file(tensors_of(run));
  const auto message = input_error([&] { train_run(e, RunDirectory(run), resuming(std::move(source))); });
  EXPECT_EQ(read_file(run / "config.toml"), config);
  EXPECT_TRUE(read_file(tensors_of(run)) == tensors);
  return test::after(run.string() + ": ", message);
}

// Steps after resuming.
int64_t resumed(const fs::path& run, Experiment e, int64_t steps, std::shared_ptr<DataSource> source = nullptr) {
  const Threads one(1);
  e.train.steps = steps;
  return train_run(e, RunDirectory(run), resuming(std::move(source))).steps;
}

Experiment with(const std::string& assignment, Experiment e = tiny_experiment()) {
  schema_of(e).set(assignment);
  return e;
}

// A different value for each key that must not change, and how the message states the difference.
const std::vector<std::vector<std::string>> kFixed{
    {"seed=2", "seed is 2 now and was 1"},
    {"data.holdout=0.25", "data.holdout is 0.25 now and was 0.05"},
    {"path.kind=ray", "path.kind is \"ray\" now and was \"e-geodesic\""},
    {"path.eps=0.4", "path.eps is 0.4 now and was 0.01"},
    {"path.rate=0.25", "path.rate is 0.25 now and was 0.5"},
    {"model.form=endpoint", "model.form is \"endpoint\" now and was \"evidence\""},
    {"net.kind=linear", "net.kind is \"linear\" now and was \"mlp\""},
    {"net.custom=mine", "net.custom is \"mine\" now and was \"\""},
    {"net.hidden=[8, 8]", "net.hidden is [8, 8] now and was [8]"},
    {"net.classes=3", "net.classes is 3 now and was 128"},
    {"net.batch_norm=true", "net.batch_norm is true now and was false"},
    {"net.time_features=4", "net.time_features is 4 now and was 2"},
    {"net.input_gain=2", "net.input_gain is 2.0 now and was 1.0"},
    {"net.blocks=2", "net.blocks is 2 now and was 4"},
    {"net.block_width=64", "net.block_width is 64 now and was 512"},
    {"net.layers=2", "net.layers is 2 now and was 4"},
    {"net.width=64", "net.width is 64 now and was 128"},
    {"net.token_heads=2", "net.token_heads is 2 now and was 4"},
    {"net.dropout=0.5", "net.dropout is 0.5 now and was 0.0"},
    {"net.tree=true", "net.tree is true now and was false"},
    {"net.columns=true", "net.columns is true now and was false"},
    {"net.standardised=false", "net.standardised is false now and was true"},
    {"net.channels=48", "net.channels is 48 now and was 32"},
    {"net.channel_mult=[1]", "net.channel_mult is [1] now and was "},
    {"net.res_blocks=1", "net.res_blocks is 1 now and was 2"},
    {"net.attention_at=[4]", "net.attention_at is [4] now and was "},
    {"net.heads=2", "net.heads is 2 now and was 4"},
    {"train.objective=metric", "train.objective is \"metric\" now and was \"cross_entropy\""},
    {"train.time_law=decision", "train.time_law is \"decision\" now and was \"information\""},
    {"train.reweight=true", "train.reweight is true now and was false"},
    {"train.evidence=known", "train.evidence is \"known\" now and was \"uniform\""},
    {"train.evidence_known=0.75", "train.evidence_known is 0.75 now and was 0.6"},
    {"train.evidence_own_times=0.5", "train.evidence_own_times is 0.5 now and was 0.25"},
    {"train.evidence_erased=0.25", "train.evidence_erased is 0.25 now and was 0.5"},
    {"train.batch=16", "train.batch is 16 now and was 32"},
    {"train.shards=4", "train.shards is 4 now and was 0"},
    {"train.fill_holes=false", "train.fill_holes is false now and was true"},
    {"train.beta1=0.5", "train.beta1 is 0.5 now and was 0.9"},
    {"train.beta2=0.5", "train.beta2 is 0.5 now and was 0.99"},
    {"train.adam_eps=0.001", "train.adam_eps is 0.001 now and was 1e-08"},
    {"train.ema=0", "train.ema is 0.0 now and was 0.999"},
    {"watch.items=100", "watch.items is 100 now and was 512"}};

// A different value for each key that may change.
const std::vector<std::string> kFree{"net.precision=float32",
                                     "train.steps=20",
                                     "train.epochs=3",
                                     "train.reduce=bfloat16",
                                     "train.lr=0.001",
                                     "train.warmup=3",
                                     "train.schedule=constant",
                                     "train.clip=1",
                                     "watch.every=3",
                                     "watch.evaluations=64",
                                     "watch.grid=4",
                                     "watch.keep=1",
                                     "watch.save_seconds=5",
                                     "watch.patience=4",
                                     "watch.use_best=true",
                                     "watch.tensorboard=true",
                                     "sample.sampler=euler",
                                     "sample.steps=3",
                                     "sample.stop=end",
                                     "sample.t1=0.5",
                                     "sample.readout=segre",
                                     "sample.tolerance=0.01",
                                     "sample.order=confidence",
                                     "sample.precision=trained"};

// Keys that name data.
const std::vector<std::string> kContents{"data.source=joint:elsewhere.csv", "data.validation=joint:elsewhere.csv"};

std::string key_of(const std::string& assignment) { return assignment.substr(0, assignment.find('=')); }

// All keys, from a printed config.
std::set<std::string> all_keys() {
  Experiment e;
  std::set<std::string> keys;
  std::string table;
  for (const std::string& line : split(schema_of(e).to_toml(/*with_help=*/false), '\n')) {
    if (line.starts_with('[')) table = line.substr(1, line.size() - 2) + ".";
    if (const size_t at = line.find(" = "); at != std::string::npos) keys.insert(table + line.substr(0, at));
  }
  return keys;
}

TEST(Resume, EveryKeyIsTriedBelow) {
  std::set<std::string> tried;
  for (const auto& entry : kFixed) tried.insert(key_of(entry[0]));
  for (const auto* list : {&kFree, &kContents})
    for (const auto& assignment : *list) tried.insert(key_of(assignment));
  EXPECT_EQ(tried, all_keys());
}

TEST(Resume, AKeyThatChangesTheMeaningIsRefusedWithBothValues) {
  const ScratchFolder folder;
  const auto run = train_into(folder / "run");
  for (const auto& entry : kFixed) {
    const auto message = refused(run, with(entry[0]));
    EXPECT_TRUE(message.starts_with(entry[1])) << message;
    EXPECT_TRUE(message.ends_with(kEnd)) << message;
  }
  EXPECT_EQ(refused(run, with("path.eps=0.4")), std::string("path.eps is 0.4 now and was 0.01") + kEnd);
}

TEST(Resume, AllDifferencesAreNamedAtOnce) {
  const ScratchFolder folder;
  const auto run = train_into(folder / "run");
  EXPECT_EQ(refused(run, with("seed=2", with("path.eps=0.4", with("train.lr=0.5")))),
            std::string("seed is 2 now and was 1, path.eps is 0.4 now and was 0.01") + kEnd);
}

TEST(Resume, TheOtherKeysMayChange) {
  const ScratchFolder folder;
  const auto run = train_into(folder / "run");
  const auto before = read_checkpoint(*RunDirectory(run).latest());
  for (const auto* list : {&kFree, &kContents})
    for (const auto& assignment : *list)
      EXPECT_EQ(input_error([&] { require_same_config(run, before, with(assignment)); }), "") << assignment;
  EXPECT_EQ(resumed(run, with("train.lr=0.001", with("train.clip=1")), 14), 14);
  EXPECT_EQ(load_run(run, torch::kCPU).experiment.train.adam.clip, 1.0);
}

TEST(Resume, AveragingCannotBeSwitchedOnOrOff) {
  const ScratchFolder folder;
  const auto on = train_into(folder / "on");
  EXPECT_TRUE(contains(refused(on, with("train.ema=0")), "train.ema is 0.0 now and was 0.999"));
  const auto off = train_into(folder / "off", with("train.ema=0"));
  EXPECT_TRUE(contains(refused(off, tiny_experiment()), "train.ema is 0.999 now and was 0.0"));
}

TEST(Resume, ComparesWithTheCheckpointNotWithTheConfigBesideIt) {
  const ScratchFolder folder;
  const auto run = train_into(folder / "run");
  const Experiment other = with("path.eps=0.4");
  RunDirectory(run).write_config(other);
  EXPECT_TRUE(contains(refused(run, other), "path.eps is 0.4 now and was 0.01"));
  EXPECT_EQ(resumed(run, tiny_experiment(), 14), 14);
}

TEST(Resume, FewerStepsThanDoneAreRefused) {
  const ScratchFolder folder;
  const auto run = train_into(folder / "run");
  EXPECT_EQ(refused(run, with("train.steps=5")),
            "train.steps is 5 and 12 steps are done; a larger train.steps continues");
}

// A source of 60 rows of three binary columns, the first `n_ones` of them (1, 1, 1) and the others (0, 0, 0).
std::shared_ptr<DataSource> rows(int64_t n_ones, int64_t n_rows = 60, const std::string& label = "no") {
  auto labels = torch::zeros({n_rows, 3}, torch::kUInt8);
  labels.slice(0, 0, n_ones).fill_(1);
  std::vector<Variable> columns;
  for (const char* name : {"a", "b", "c"}) columns.push_back({name, 2, {label, "yes"}});
  return make_dataset_source({Space::table(columns), labels});
}

TrainRunOptions learning(std::shared_ptr<DataSource> source) {
  TrainRunOptions options;
  options.source = std::move(source);
  return options;
}

class ResumeData : public testing::Test {
 protected:
  void SetUp() override {
    experiment_.data = "csv:before.csv";
    experiment_.holdout = 0.25;
    train_into(run(), experiment_, learning(rows(30)));
  }
  fs::path run() const { return folder_ / "run"; }
  // The experiment with data of this name.
  Experiment asked(const std::string& name = "csv:now.csv") const {
    Experiment e = experiment_;
    e.data = name;
    return e;
  }

 private:
  ScratchFolder folder_;
  Experiment experiment_ = tiny_experiment();
};

TEST_F(ResumeData, ThatMovedButAreTheSameGoOn) { EXPECT_EQ(resumed(run(), asked(), 14, rows(30)), 14); }

TEST_F(ResumeData, OfAnotherNumberAreRefused) {
  EXPECT_EQ(refused(run(), asked(), rows(30, 61)),
            std::string("data.source = csv:now.csv holds 61 items now and held 60") + kEnd);
}

TEST_F(ResumeData, OfOtherContentsAreRefusedWithBothFingerprints) {
  const auto name = [](int64_t ones) { return fingerprint_of(*rows(ones), "csv:any"); };
  EXPECT_EQ(refused(run(), asked(), rows(31)),
            concat("data.source = csv:now.csv contains different data: its fingerprint is ", name(31), " now and was ",
                   name(30), kEnd));
}

TEST_F(ResumeData, WithOtherLabelsAreRefused) {
  EXPECT_EQ(refused(run(), asked(), rows(30, 60, "never")),
            std::string("label 0 of variable a is 'never' now and was 'no'") + kEnd);
}

TEST_F(ResumeData, OfAnotherSpaceAreRefused) {
  const auto message = refused(run(), asked(), make_dataset_source(test::stripes()));
  EXPECT_EQ(message, std::string("the data are an image of 8x8 variables with 2 labels each now and were a table of 3 "
                                 "variables with 2 labels each") +
                         kEnd);
}

// Checkpoints of the first release have no fingerprint; their labels are still compared.
TEST_F(ResumeData, AreNotComparedWithACheckpointThatDoesNotKnowThem) {
  edit_description(run(), [](auto& json) { json.erase("data"); });
  EXPECT_TRUE(contains(refused(run(), asked(), rows(30, 60, "never")), "label 0 of variable a is 'never' now"));
  EXPECT_EQ(resumed(run(), asked(), 14, rows(31)), 14);
}

class ResumeFiles : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return folder_ / name; }
  // A table of `n` rows, the first `n_yes` of them (yes, dry) and the others (no, wet).
  std::string table(const std::string& name, int n, int n_yes) const {
    std::string text = "a,b\n";
    for (int k = 0; k < n; ++k) text += k < n_yes ? "yes,dry\n" : "no,wet\n";
    write_text(file(name), text);
    return "csv:" + file(name).string();
  }
  static Experiment learning(const std::string& data, const std::string& validation) {
    Experiment e = tiny_experiment();
    e.data = data;
    e.validation = validation;
    return e;
  }

 private:
  ScratchFolder folder_;
};

TEST_F(ResumeFiles, ValidationDataMayMoveButNotChange) {
  const auto data = table("t.csv", 40, 20);
  const auto run = train_into(file("run"), learning(data, table("v.csv", 12, 6)));
  EXPECT_EQ(resumed(run, learning(data, table("same.csv", 12, 6)), 13), 13);
  const auto fewer = table("fewer.csv", 11, 6);
  EXPECT_EQ(refused(run, with("train.steps=20", learning(data, fewer))),
            "data.validation = " + fewer + " gives 11 held-out items now and gave 12" + kEnd);
  const auto other = table("other.csv", 12, 7);
  EXPECT_TRUE(refused(run, with("train.steps=20", learning(data, other)))
                  .starts_with("data.validation = " + other + " gives other held-out items: their fingerprint is "));
}

TEST_F(ResumeFiles, ATablesColumnsMayMoveAndOthersCome) {
  const auto data = table("t.csv", 40, 20);
  const auto run = train_into(file("run"), learning(data, ""));
  std::string text = "id,b,a\n";
  for (int k = 0; k < 40; ++k) text += concat("k", k, k < 20 ? ",dry,yes\n" : ",wet,no\n");
  write_text(file("moved.csv"), text + "\n");
  EXPECT_EQ(resumed(run, learning("csv:" + file("moved.csv").string(), ""), 13), 13);
  const auto error = refused(run, with("train.steps=20", learning(data + "?labels=yes|no|dry|wet", "")));
  EXPECT_EQ(error, std::string("variable a has 4 labels now and had 2") + kEnd) << "other labels are asked for";
}

TEST_F(ResumeFiles, BinsAreThoseOfTheCheckpoint) {
  const auto measured = [&](const char* name, double shift) {
    std::string text = "a,b\n";
    for (int k = 0; k < 40; ++k) text += concat(k + 0.25 + (k == 7 ? shift : 0.0), k % 2 == 0 ? ",x\n" : ",y\n");
    write_text(file(name), text);
    return "csv:" + file(name).string() + "?bins=a:4";
  };
  const auto run = train_into(file("run"), learning(measured("t.csv", 0.0), ""));
  EXPECT_EQ(resumed(run, learning(measured("same.csv", 0.125), ""), 13), 13) << "in the same bin still";
  const auto other = measured("other.csv", 20.0);
  EXPECT_TRUE(contains(refused(run, with("train.steps=20", learning(other, ""))), "contains different data"));
  const auto more = "csv:" + file("t.csv").string() + "?bins=a:5";
  EXPECT_EQ(refused(run, with("train.steps=20", learning(more, ""))),
            std::string("variable a has 5 labels now and had 4") + kEnd);
}

TEST_F(ResumeFiles, AJointTableIsToldByItsProbabilities) {
  const auto joint = [&](const char* name, const char* text) {
    write_text(file(name), text);
    return "joint:" + file(name).string();
  };
  const char* const kHalf = "a,p\nx,0.5\ny,0.5\n";
  const auto run = train_into(file("run"), learning(joint("j.csv", kHalf), ""));
  const auto moved = joint("moved.csv", kHalf);
  EXPECT_EQ(resumed(run, learning(moved, ""), 13), 13);
  const auto other = joint("k.csv", "a,p\nx,0.25\ny,0.75\n");
  EXPECT_EQ(refused(run, with("train.steps=20", learning(other, ""))),
            "data.source is " + other + " now and was " + moved + kEnd);
  const auto then = fingerprint_of(*open_source(moved), moved);
  joint("moved.csv", "a,p\nx,0.25\ny,0.75\n");
  EXPECT_EQ(refused(run, with("train.steps=20", learning(moved, ""))),
            concat("data.source = ", moved, " contains different data: its fingerprint is ",
                   fingerprint_of(*open_source(moved), moved), " now and was ", then, kEnd));
}

TEST(Resume, BuiltInDataAreToldByTheirName) {
  const ScratchFolder folder;
  const Experiment e = with("data.source=glyphs?pad=2");
  const auto run = train_into(folder / "run", with("watch.items=8", with("train.steps=1", e)));
  const Experiment other = with("data.source=glyphs?pad=2&seed=3", with("watch.items=8", with("train.steps=2", e)));
  EXPECT_EQ(refused(run, other), std::string("data.source is glyphs?pad=2&seed=3 now and was glyphs?pad=2") + kEnd);
}

TEST(Resume, ADamagedCheckpointIsNamedAndLeftAlone) {
  const ScratchFolder folder;
  const auto run = train_into(folder / "run");
  const auto file = tensors_of(run).string();
  const auto whole = read_file(file);
  const Threads one(1);
  const auto message = [&](const std::function<void(NamedTensors&)>& damage) {
    write_text(file, whole);
    edit_tensors(run, damage);
    return test::after(file + ": ", input_error([&] { resumed(run, tiny_experiment(), 14); }));
  };
  EXPECT_EQ(message([](auto& t) { t.erase("adam.v.layer0.bias"); }), "the checkpoint has no tensor adam.v.layer0.bias");
  EXPECT_EQ(message([](auto& t) { t["adam.v.layer9.bias"] = torch::zeros({8}); }),
            "tensor adam.v.layer9.bias does not belong to the model that model.json describes");
  EXPECT_EQ(message([](auto& t) { t["adam.step"] = torch::tensor(int64_t{3}); }),
            "holds the weights after step 3, model.json is of step 12");
  EXPECT_EQ(message([](auto& t) { t["adam.step"] = torch::tensor(12.0, torch::kFloat64); }),
            "the checkpoint's tensor adam.step is of type Double, Long was expected");
  EXPECT_EQ(message([](auto& t) {
              t["time_law.sum"] = torch::zeros({8, 8}, torch::kFloat64);
            }),
            "the checkpoint's tensor time_law.sum has shape [8, 8], the model that model.json describes has [64]");
  EXPECT_EQ(message([](auto& t) { t["metrics.window"] = torch::zeros({1}, torch::kFloat64); }),
            "the checkpoint's tensor metrics.window has shape [1], the model that model.json describes has [2]");
  EXPECT_EQ(message([](auto& t) { t["adam.m.layer0.bias"][2] = std::nan(""); }),
            "the checkpoint's tensor adam.m.layer0.bias contains non-finite values");
}

TEST(Resume, AStepBeyondWhatItsFolderSaysIsRefused) {
  const ScratchFolder folder;
  const auto run = train_into(folder / "run");
  edit_description(run, [](auto& json) { json["step"] = 10; });
  EXPECT_TRUE(
      contains(input_error([&] { resumed(run, tiny_experiment(), 14); }), "model.json: step 10 in a folder named"));
}

}  // namespace
}  // namespace segre::resume_test
