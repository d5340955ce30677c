#pragma once

#include <memory>

#include "segre/config/schema.h"
#include "segre/net/field.h"
#include "segre/path/path.h"
#include "segre/path/state.h"

namespace segre {

/// What the network's output means. Each form converts to the others (velocity_from_endpoint and its inverse).
enum class Form {
  velocity,  ///< the network gives F itself from softmax(v); the paper's form
  endpoint,  ///< the network gives logits of the final label from softmax(v)
  evidence,  ///< logits = e + network(softmax(e)), e the evidence: Bayes' rule is built in, the network learns only the
             ///< dependence between variables
};

/// Declares the key model.form.
void declare_form_key(ConfigSchema& schema, Form& form);

/// A network with a space, a path and a form: the flow dv/dt = F(v, t). Threads may share it as long as none of them
/// trains it, loads weights or changes their precision.
class Model {
 public:
  /// InputError if the path or the network is missing, or the network has no parameters.
  Model(Space space, std::shared_ptr<const Path> path, Form form, std::shared_ptr<Field> field);

  const Space& space() const { return space_; }
  const Path& path() const { return *path_; }
  const std::shared_ptr<const Path>& shared_path() const { return path_; }
  Form form() const { return form_; }
  Field& field() const { return *field_; }

  /// The network's input [B, S]: softmax(v), or softmax(e) in the evidence form, plus soft evidence; corners for known
  /// variables, unless the network looks up their labels by itself. InputError if something is known and the form is
  /// not evidence.
  torch::Tensor network_input(const State& state) const;
  /// The time shown to the network: [B] or [1]. If the variables have times of their own, or soft evidence, the
  /// mean over those that the flow carries of the times at which a path would be as certain.
  torch::Tensor network_time(const State& state) const;
  /// Everything that the network is shown: input and time, and what it reads besides.
  FieldInput field_input(const State& state) const;
  /// The network's raw output: [B, S]. Error if its shape or type differs from v's.
  torch::Tensor network_output(const State& state) const;
  /// Logits of the final labels given the state; the endpoint and evidence forms only. [B, S].
  torch::Tensor logits(const State& state) const;
  /// D, the mean endpoint given the state: [B, S], 0 for variables that the flow does not carry.
  torch::Tensor endpoint(const State& state) const;
  /// F, tangent: [B, S]; likewise.
  torch::Tensor velocity(const State& state) const;
  /// F at one time for sampling, without gradients; fused if the kernels support it.
  torch::Tensor velocity_at(const torch::Tensor& v, double t, const Known& known = {}) const;
  /// The factor of e, a/s^2, in the shape of t; empty in the endpoint form, which adds no evidence.
  torch::Tensor evidence_ratio(const torch::Tensor& t) const;
  /// kappa per variable [n] in the field's type, on its device.
  const torch::Tensor& scales() const { return scales_; }
  /// Type and device of the parameters.
  torch::TensorOptions options() const { return scales_.options(); }

 private:
  torch::Tensor evidence(const State& state) const;                  // e and what is known softly: [B, S]
  torch::Tensor limited(const torch::Tensor& soft) const;            // soft evidence as the network is shown it: [B, S]
  torch::Tensor soft_odds(const torch::Tensor& limited_soft) const;  // the mean log odds of soft evidence: [B, n]
  State shown_state(const State& state) const;                       // with limited soft evidence
  torch::Tensor certainty(const State& state) const;  // the time of each variable at which a path is as certain: [B, n]
  torch::Tensor strength(const State& state) const;   // FieldInput::strength
  torch::Tensor standardised(const State& state, const FieldInput& input) const;  // FieldInput::standardised

  Space space_;
  std::shared_ptr<const Path> path_;
  Form form_;
  std::shared_ptr<Field> field_;
  torch::Tensor scales_;             // [n]
  torch::Tensor coordinate_scales_;  // [S], or [1] if all are equal
  torch::Tensor evenly_;             // [S] 1/c
  torch::Tensor clock_;              // [K] a/s at evenly spaced times up to the decision time
  torch::Tensor most_lead_;          // [S] log odds of a label at the decision time
  double t1_;                        // the decision time
};

}  // namespace segre
