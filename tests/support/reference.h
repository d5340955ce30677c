#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "segre/net/field.h"
#include "segre/path/path.h"
#include "tests/support/support.h"

// Independent computations to compare formulas with: explicit loops over labels in plain doubles, and finite
// differences. Nothing here calls the code under test beyond Space's counts and Path's coefficients.

namespace segre::test {

using Row = std::vector<double>;

/// The values of a tensor, in order.
Row values_of(const torch::Tensor& x);
/// The labels of a tensor, in order.
std::vector<int64_t> labels_of(const torch::Tensor& x);
/// A float64 tensor of these values.
torch::Tensor tensor_of(const Row& values);

/// Three variables with 2, 3 and 4 labels: 24 labelings, 6 dimensions.
Space small_mixed_space();
/// A table of unnamed variables with these numbers of labels.
Space space_of(const std::vector<int64_t>& n_labels);

/// The e-geodesic (eps = 0.01) and the ray (rate = 0.5), each with a time at which labels are half decided.
struct TimedPath {
  std::shared_ptr<const Path> path;
  double t;
};
std::vector<TimedPath> both_paths();

/// Vectors of T0 [count, S]: noise less its mean per variable, taken by loops.
torch::Tensor tangent_noise(const Space& space, int64_t count, uint64_t seed = 1, double scale = 1.0);
/// An orthonormal basis of T0 as columns [S, n_dims], by Gram-Schmidt.
torch::Tensor tangent_frame(const Space& space);
/// Arbitrary labels, [count, n].
torch::Tensor some_labels(const Space& space, int64_t count, uint64_t seed = 1);

/// u_beta by loops.
Row corner_by_loops(const Space& space, const Path& path, const std::vector<int64_t>& labels);

/// The path of a joint distribution at v, by loops over all labelings of the table.
struct Exact {
  double log_density;
  Row posterior;  ///< per labeling
  Row endpoint;   ///< E[u_beta | v]
  Row velocity;   ///< E[a' u_beta + s' z | v] with z = (v - a u_beta)/s
};
Exact exact_by_loops(const JointTable& table, const Path& path, const Row& v, double t);

/// A tensor of a list by name; throws if there is none.
const torch::Tensor& named(const NamedList& list, const std::string& name);
/// Turns a field's parameters and buffers into float64, so that finite differences are accurate. Integers stay.
void to_double(const Field& field);
/// Largest |gradient - central difference| over all parameters. `loss` is evaluated at shifted parameters;
/// the parameters must already hold the gradients.
double gradient_error(const Field& field, const std::function<double()>& loss, double shift);

/// A network whose output is one learned row, whatever it is shown; reads what it is told to, and remembers it.
class FixedField final : public Field {
 public:
  explicit FixedField(torch::Tensor output, FieldReads what = FieldReads::point)
      : output_(add_parameter("output", std::move(output))), reads_(what) {}
  torch::Tensor forward(const FieldInput& input) override;
  FieldReads reads() const override { return reads_; }
  int64_t n_activations() const override { return 0; }
  FieldInput shown{};

 private:
  torch::Tensor output_;  // [S]
  FieldReads reads_;
};

}  // namespace segre::test
