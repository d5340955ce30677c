#pragma once

#include <memory>

#include "segre/config/schema.h"
#include "segre/net/field.h"
#include "segre/path/path.h"

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

/// A network with a space, a path and a form: the flow dv/dt = F(v, t).
class Model {
 public:
  /// InputError if the path or the network is missing, or the network has no parameters.
  Model(Space space, std::shared_ptr<const Path> path, Form form, std::shared_ptr<Field> field);

  const Space& space() const { return space_; }
  const Path& path() const { return *path_; }
  const std::shared_ptr<const Path>& shared_path() const { return path_; }
  Form form() const { return form_; }
  Field& field() const { return *field_; }

  /// The network's input: softmax(v), or softmax(e) in the evidence form. v [B, S], t [B] or [1] -> [B, S].
  torch::Tensor network_input(const torch::Tensor& v, const torch::Tensor& t) const;
  /// The network's raw output at (v, t): [B, S]. Error if its shape or type differs from v's.
  torch::Tensor network_output(const torch::Tensor& v, const torch::Tensor& t) const;
  /// Logits of the final labels given v; the endpoint and evidence forms only. [B, S].
  torch::Tensor logits(const torch::Tensor& v, const torch::Tensor& t) const;
  /// D, the mean endpoint given v: [B, S].
  torch::Tensor endpoint(const torch::Tensor& v, const torch::Tensor& t) const;
  /// F, tangent: [B, S].
  torch::Tensor velocity(const torch::Tensor& v, const torch::Tensor& t) const;
  /// F at one time for sampling, without gradients; fused if the kernels support it.
  torch::Tensor velocity_at(const torch::Tensor& v, double t) const;
  /// The factor of e per item, a/s^2, [B] or [1]; empty in the endpoint form, which adds no evidence.
  torch::Tensor evidence_ratio(const torch::Tensor& t) const;
  /// kappa per variable [n] in the field's type, on its device.
  const torch::Tensor& scales() const { return scales_; }
  /// Type and device of the parameters.
  torch::TensorOptions options() const { return scales_.options(); }

 private:
  torch::Tensor evidence(const torch::Tensor& v, const torch::Tensor& t) const;  // e: [B, S]

  Space space_;
  std::shared_ptr<const Path> path_;
  Form form_;
  std::shared_ptr<Field> field_;
  torch::Tensor scales_;             // [n]
  torch::Tensor coordinate_scales_;  // [S], or [1] if all are equal
};

}  // namespace segre
