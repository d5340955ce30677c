#include "segre/recipes/experiment.h"

#include "segre/core/error.h"
#include "segre/core/utf8.h"

namespace segre {

Experiment::Experiment() {
  train.schedule = {.lr = 0.06, .warmup = 200, .kind = ScheduleKind::cosine};
  train.adam.beta2 = 0.99;
}

ConfigSchema schema_of(Experiment& e) {
  ConfigSchema s;
  s.integer("seed", &e.seed, {0, 9e15}, Later::fixed, "seed of all random numbers");
  s.text("data.source", &e.data, Later::contents,
         "what to learn, such as idx:FILE, png:DIR, csv:FILE; 'segre data --help' lists them");
  s.text("data.validation", &e.validation, Later::contents,
         "source from which watch.items held-out items are chosen; empty: taken from the data");
  s.number("data.holdout", &e.holdout, {0, 0.5}, Later::fixed, "maximum share of the data held out for validation");
  declare_path_keys(s, e.path);
  declare_form_key(s, e.form);
  declare_net_keys(s, e.net);
  s.text("net.custom", &e.custom_net, Later::fixed,
         "name of a network that a program embedding segre supplies instead of net.kind; empty: none");
  declare_train_keys(s, e.train);
  declare_watch_keys(s, e.watch);
  declare_sample_keys(s, e.sample);
  return s;
}

void set_sample_keys(Experiment& experiment, const std::vector<std::string>& set, const std::string& option) {
  auto schema = schema_of(experiment);
  for (const auto& assignment : set) {
    if (!assignment.starts_with("sample."))
      fail_input(option, " ", assignment, ": only keys of sample.* can be changed after training");
    schema.set(assignment, option);
  }
}

void use_custom_field(Experiment& experiment, const CustomField& custom) {
  if (custom.name.empty()) fail_input("a custom network needs a name, which checkpoints store; found none");
  if (find_invalid_utf8(custom.name) != std::string::npos)
    fail_input("the network's name ", printable(custom.name), " is not UTF-8, as a config must be");
  experiment.custom_net = custom.name;
  const NetPrecision precision = experiment.net.precision;
  experiment.net = NetOptions();
  experiment.net.precision = precision;
}

namespace {

std::shared_ptr<Field> custom_field_of(const Experiment& e, const Space& space, const CustomField& custom) {
  if (!custom.make)
    fail_input("net.custom = \"", e.custom_net,
               "\": a network that another program supplies and segre does not have; that program can load it "
               "(CustomField in C++, field= in Python)");
  if (custom.name != e.custom_net)
    fail_input("net.custom = \"", e.custom_net, "\": the given network is called \"", custom.name, "\"");
  return custom.make(space, static_cast<uint64_t>(e.seed));
}

void check_form(const Experiment& e) {
  if (net_kind(e.net.kind).evidence_only && e.form != Form::evidence)
    fail_input("net.kind = \"", e.net.kind, "\" gives messages between variables and needs model.form = \"evidence\"");
}

std::shared_ptr<Field> field_of(const Experiment& e, const Space& space, const CustomField& custom) {
  if (!e.custom_net.empty() || custom.make) return custom_field_of(e, space, custom);
  check_form(e);
  return make_field(space, e.net, static_cast<uint64_t>(e.seed));
}

}  // namespace

Model make_model(const Experiment& e, const Space& space, torch::Device device, const CustomField& custom) {
  auto field = field_of(e, space, custom);
  if (field) field->to(device);
  return {space, make_path(e.path), e.form, std::move(field)};
}

NetOutline outline_of(const Experiment& e, const Space& space) {
  if (!e.custom_net.empty()) custom_field_of(e, space, {});  // names who has it
  check_form(e);
  return outline_net(space, e.net);
}

}  // namespace segre
