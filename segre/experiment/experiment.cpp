#include "segre/experiment/experiment.h"

#include "segre/core/error.h"

namespace segre {

Experiment::Experiment() {
  train.schedule = {.lr = 0.06, .warmup = 200, .kind = ScheduleKind::cosine};
  train.adam.beta2 = 0.99;
}

ConfigSchema schema_of(Experiment& e) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  ConfigSchema s;
  s.integer("seed", &e.seed, {0, 9e15}, "all randomness follows from it");
  s.text("data.source", &e.data, "what to learn: coupled, mixture, pinwheel, joint:FILE.csv");
  s.choice<PathKind>("path.kind", &e.path.kind, {{"e-geodesic", PathKind::e_geodesic}, {"ray", PathKind::ray}},
                     "the path from noise to labels: the paper's, or the infinite-time ray");
  s.number("path.eps", &e.path.eps, {1e-6, 0.5}, "smoothing of the corners (e-geodesic)");
  s.number("path.rate", &e.path.rate, {1e-3, 1e3}, "speed of the ray");
  s.choice<Form>(
      "model.form", &e.form, {{"velocity", Form::velocity}, {"endpoint", Form::endpoint}, {"evidence", Form::evidence}},
      "what the network gives: the velocity (the paper), label logits, or the message from the other variables");
  s.choice<NetKind>("net.kind", &e.net.kind,
                    {{"linear", NetKind::linear}, {"mlp", NetKind::mlp}, {"latent_class", NetKind::latent_class}},
                    "the network; latent_class wants model.form = \"evidence\"");
  s.integers("net.hidden", &e.net.hidden, {1, 65536}, "widths of the hidden layers (mlp)");
  s.integer("net.classes", &e.net.classes, {1, 65536}, "number of products in the mixture (latent_class)");
  s.flag("net.batch_norm", &e.net.batch_norm, "batch normalisation before each dense layer (mlp)");
  s.integer("net.time_features", &e.net.time_features, {0, 1024}, "Fourier frequencies of t; 0: no time (mlp, linear)");
  s.number("net.input_gain", &e.net.input_gain, {1e-3, 1e3}, "factor on the network's input (mlp)");
  s.choice<Objective>("train.objective", &e.train.objective,
                      {{"metric", Objective::metric}, {"cross_entropy", Objective::cross_entropy}},
                      "what is minimised: the paper's metric objective, or the cross entropy of the labels");
  s.choice<TimeLawKind>("train.time_law", &e.train.time_law,
                        {{"uniform", TimeLawKind::uniform},
                         {"decision", TimeLawKind::decision},
                         {"information", TimeLawKind::information}},
                        "times of training: uniform on [0, 1], on [0, decision time], or where labels are decided");
  s.flag("train.reweight", &e.train.reweight, "weight the information law back to uniform times");
  s.integer("train.steps", &e.train.steps, {1, 1e12}, "optimiser steps");
  s.integer("train.batch", &e.train.batch, {1, 1e9}, "items per step");
  s.number("train.lr", &e.train.schedule.lr, {0, 10}, "learning rate at its highest");
  s.integer("train.warmup", &e.train.schedule.warmup, {0, 1e12}, "steps of linear rise to it");
  s.choice<ScheduleKind>("train.schedule", &e.train.schedule.kind,
                         {{"constant", ScheduleKind::constant}, {"cosine", ScheduleKind::cosine}},
                         "after warm-up: constant, or a cosine down to 0");
  s.number("train.beta1", &e.train.adam.beta1, {0, 0.9999}, "Adam's decay of the mean gradient");
  s.number("train.beta2", &e.train.adam.beta2, {0, 0.999999}, "Adam's decay of the mean squared gradient");
  s.number("train.adam_eps", &e.train.adam.eps, {0, 1}, "Adam's epsilon");
  s.number("train.ema", &e.train.adam.ema, {0, 0.999999},
           "decay of the averaged weights that sampling uses; 0: the last weights");
  s.choice<std::string>("sample.sampler", &e.sample.sampler,
                        {{"euler", "euler"}, {"midpoint", "midpoint"}, {"heun", "heun"}, {"rk4", "rk4"}},
                        "integration scheme");
  s.integer("sample.steps", &e.sample.steps, {1, 1e7}, "steps of equal length in t");
  s.choice<Stop>("sample.stop", &e.sample.stop, {{"decision", Stop::decision}, {"end", Stop::end}},
                 "where labels are read: at the decision time, or at t = 1");
  s.number("sample.t1", &e.sample.t1, {0, kInf}, "read labels at this time instead; 0: where sample.stop says");
  s.choice<Readout>("sample.readout", &e.sample.readout, {{"argmax", Readout::argmax}, {"matched", Readout::matched}},
                    "the largest coordinate, or a draw from the path's Bayes rule");
  return s;
}

std::shared_ptr<const Path> make_path(const PathOptions& options) {
  return options.kind == PathKind::ray ? make_ray(options.rate) : make_e_geodesic(options.eps);
}

Model make_model(const Experiment& e, const Space& space, torch::Device device) {
  if (e.net.kind == NetKind::latent_class && e.form != Form::evidence)
    fail_input("net.kind = \"latent_class\" gives messages between variables and needs model.form = \"evidence\"");
  auto field = make_field(space, e.net, static_cast<uint64_t>(e.seed));
  field->to(device);
  return {space, make_path(e.path), e.form, std::move(field)};
}

}  // namespace segre
