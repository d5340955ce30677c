#include "segre/experiment/experiment.h"

#include "segre/core/error.h"
#include "segre/core/utf8.h"

namespace segre {
namespace {

std::vector<std::pair<std::string, std::string>> sampler_choices() {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const std::string& name : sampler_names()) choices.emplace_back(name, name);
  return choices;
}

}  // namespace

Experiment::Experiment() {
  train.schedule = {.lr = 0.06, .warmup = 200, .kind = ScheduleKind::cosine};
  train.adam.beta2 = 0.99;
}

ConfigSchema schema_of(Experiment& e) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  ConfigSchema s;
  s.integer("seed", &e.seed, {0, 9e15}, Later::fixed, "all randomness follows from it");
  s.text("data.source", &e.data, Later::contents,
         "what to learn, such as idx:FILE, png:DIR, csv:FILE; 'segre data --help' lists them");
  s.text("data.validation", &e.validation, Later::contents,
         "held-out items, a source of which watch.items are chosen; empty: some of the data's own");
  s.number("data.holdout", &e.holdout, {0, 0.5}, Later::fixed,
           "largest share of the data's items held out for validation");
  s.choice<PathKind>("path.kind", &e.path.kind, {{"e-geodesic", PathKind::e_geodesic}, {"ray", PathKind::ray}},
                     Later::fixed, "the path from noise to labels: the paper's, or the infinite-time ray");
  s.number("path.eps", &e.path.eps, {1e-6, 0.5}, Later::fixed, "smoothing of the corners (e-geodesic)");
  s.number("path.rate", &e.path.rate, {1e-3, 1e3}, Later::fixed, "speed of the ray");
  s.choice<Form>(
      "model.form", &e.form, {{"velocity", Form::velocity}, {"endpoint", Form::endpoint}, {"evidence", Form::evidence}},
      Later::fixed,
      "what the network gives: the velocity (the paper), label logits, or the message from the other variables");
  s.choice<NetKind>("net.kind", &e.net.kind,
                    {{"linear", NetKind::linear},
                     {"mlp", NetKind::mlp},
                     {"latent_class", NetKind::latent_class},
                     {"unet", NetKind::unet}},
                    Later::fixed, "the network; latent_class wants model.form = \"evidence\", unet wants images");
  s.text("net.custom", &e.custom_net, Later::fixed,
         "name of a network that a program with segre inside brings instead of net.kind; empty: none");
  s.integers("net.hidden", &e.net.hidden, {1, 65536}, Later::fixed, "widths of the hidden layers (mlp)");
  s.integer("net.classes", &e.net.classes, {1, 65536}, Later::fixed,
            "number of products in the mixture (latent_class)");
  s.flag("net.batch_norm", &e.net.batch_norm, Later::fixed, "batch normalisation before each dense layer (mlp)");
  s.integer("net.time_features", &e.net.time_features, {0, 1024}, Later::fixed,
            "Fourier frequencies of t; 0: no time (mlp, linear)");
  s.number("net.input_gain", &e.net.input_gain, {1e-3, 1e3}, Later::fixed, "factor on the network's input (mlp)");
  s.integer("net.channels", &e.net.unet.channels, {1, 4096}, Later::fixed, "channels at full resolution (unet)");
  s.integers("net.channel_mult", &e.net.unet.channel_mult, {1, 64}, Later::fixed, "factor on them per level (unet)");
  s.integer("net.res_blocks", &e.net.unet.res_blocks, {1, 64}, Later::fixed, "residual blocks per level (unet)");
  s.integers("net.attention_at", &e.net.unet.attention_at, {1, 65536}, Later::fixed,
             "image heights with attention (unet)");
  s.integer("net.heads", &e.net.unet.heads, {1, 1024}, Later::fixed, "heads of attention (unet)");
  s.choice<NetPrecision>(
      "net.precision", &e.net.precision,
      {{"auto", NetPrecision::automatic}, {"float32", NetPrecision::float32}, {"bfloat16", NetPrecision::bfloat16}},
      Later::free, "numbers of convolutions and attention (unet); auto: bfloat16 on CUDA, float32 on the CPU");
  s.choice<Objective>("train.objective", &e.train.objective,
                      {{"metric", Objective::metric}, {"cross_entropy", Objective::cross_entropy}}, Later::fixed,
                      "what is minimised: the paper's metric objective, or the cross entropy of the labels");
  s.choice<TimeLawKind>("train.time_law", &e.train.time_law,
                        {{"uniform", TimeLawKind::uniform},
                         {"decision", TimeLawKind::decision},
                         {"information", TimeLawKind::information}},
                        Later::fixed,
                        "times of training: uniform on [0, 1], on [0, decision time], or where labels are decided");
  s.flag("train.reweight", &e.train.reweight, Later::fixed, "weight the information law back to uniform times");
  s.integer("train.steps", &e.train.steps, {1, 1e12}, Later::free, "optimiser steps");
  s.integer("train.epochs", &e.train.epochs, {0, 1e9}, Later::free,
            "passes over the data instead of train.steps; 0: train.steps");
  s.integer("train.batch", &e.train.batch, {1, 1e9}, Later::fixed, "items per step");
  s.number("train.lr", &e.train.schedule.lr, {0, 10}, Later::free, "learning rate at its highest");
  s.integer("train.warmup", &e.train.schedule.warmup, {0, 1e12}, Later::free,
            "steps of linear rise to it; a tenth of the training if that has no more steps");
  s.choice<ScheduleKind>("train.schedule", &e.train.schedule.kind,
                         {{"constant", ScheduleKind::constant}, {"cosine", ScheduleKind::cosine}}, Later::free,
                         "after warm-up: constant, or a cosine down to 0");
  s.number("train.beta1", &e.train.adam.beta1, {0, 0.9999}, Later::fixed, "Adam's decay of the mean gradient");
  s.number("train.beta2", &e.train.adam.beta2, {0, 0.999999}, Later::fixed,
           "Adam's decay of the mean squared gradient");
  s.number("train.adam_eps", &e.train.adam.eps, {1e-20, 1}, Later::fixed, "Adam's epsilon");
  s.number("train.ema", &e.train.adam.ema, {0, 0.999999}, Later::fixed,
           "decay of the averaged weights that sampling uses; 0: the last weights");
  s.number("train.clip", &e.train.adam.clip, {0, 1e9}, Later::free, "largest norm of the gradient; 0: any");
  s.integer("watch.every", &e.watch.every, {0, 1e12}, Later::free,
            "steps between validations; 0: so that they take little of the time, twenty at most");
  s.integer("watch.items", &e.watch.items, {1, 1e6}, Later::fixed, "held-out items a validation looks at");
  s.integer("watch.evaluations", &e.watch.evaluations, {0, 1e9}, Later::free,
            "evaluations of the network in a validation; 0: as many as the training's length allows, 512 at most");
  s.integer("watch.grid", &e.watch.grid, {0, 1024}, Later::free,
            "images in the pictures of samples on the way; 0: none");
  s.integer("watch.keep", &e.watch.keep, {1, 1e6}, Later::free, "last checkpoints kept, beside the best");
  s.number("watch.save_seconds", &e.watch.save_seconds, {0, 1e6}, Later::free, "seconds between checkpoints");
  s.flag("watch.tensorboard", &e.watch.tensorboard, Later::free, "write TensorBoard event files into RUN/tensorboard");
  s.choice<std::string>(
      "sample.sampler", &e.sample.sampler, sampler_choices(), Later::free,
      "how noise is carried to labels: all but sde follow the flow, as exactly as steps or tolerance allow");
  s.integer("sample.steps", &e.sample.steps, {1, 1e6}, Later::free,
            "steps of equal length in t; dopri5 chooses its own");
  s.choice<Stop>("sample.stop", &e.sample.stop, {{"decision", Stop::decision}, {"end", Stop::end}}, Later::free,
                 "where labels are read: at the decision time, or at t = 1");
  s.number("sample.t1", &e.sample.t1, {0, kInf}, Later::free,
           "read labels at this time instead; 0: where sample.stop says");
  s.choice<Readout>("sample.readout", &e.sample.readout,
                    {{"argmax", Readout::argmax}, {"matched", Readout::matched}, {"segre", Readout::segre}},
                    Later::free,
                    "the largest coordinate, a draw from the path's Bayes rule, or one from T(W), W = softmax(v)");
  s.number("sample.tolerance", &e.sample.tolerance, {1e-8, 1}, Later::free,
           "error allowed per step, relative to 1 + |v| (dopri5)");
  return s;
}

torch::ScalarType compute_type(const NetOptions& net, torch::Device device) {
  if (net.precision == NetPrecision::bfloat16 && device.is_cpu())
    fail_input("net.precision = \"bfloat16\" is for CUDA; on the CPU choose \"auto\" or \"float32\"");
  const bool reduced = net.precision == NetPrecision::bfloat16 ||
                       (net.precision == NetPrecision::automatic && device.is_cuda() && net.kind == NetKind::unet);
  return reduced ? torch::kBFloat16 : torch::kFloat32;
}

std::shared_ptr<const Path> make_path(const PathOptions& options) {
  return options.kind == PathKind::ray ? make_ray(options.rate) : make_e_geodesic(options.eps);
}

void use_custom_field(Experiment& experiment, const CustomField& custom) {
  if (custom.name.empty()) fail_input("a network of your own needs a name, which checkpoints keep; found none");
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
               "\": a network that another program brings and segre does not have; that program can load it "
               "(CustomField)");
  if (custom.name != e.custom_net)
    fail_input("net.custom = \"", e.custom_net, "\": the network that was given is called \"", custom.name, "\"");
  return custom.make(space, static_cast<uint64_t>(e.seed));
}

std::shared_ptr<Field> field_of(const Experiment& e, const Space& space, const CustomField& custom) {
  if (!e.custom_net.empty() || custom.make) return custom_field_of(e, space, custom);
  if (e.net.kind == NetKind::latent_class && e.form != Form::evidence)
    fail_input("net.kind = \"latent_class\" gives messages between variables and needs model.form = \"evidence\"");
  return make_field(space, e.net, static_cast<uint64_t>(e.seed));
}

}  // namespace

Model make_model(const Experiment& e, const Space& space, torch::Device device, const CustomField& custom) {
  auto field = field_of(e, space, custom);
  if (field) field->to(device);
  return {space, make_path(e.path), e.form, std::move(field)};
}

}  // namespace segre
