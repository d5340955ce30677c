#include "tests/support/reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "segre/path/e_geodesic.h"
#include "segre/path/ray.h"

namespace segre::test {

Row values_of(const torch::Tensor& x) {
  const auto flat = x.detach().to(torch::kCPU).to(torch::kFloat64).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

std::vector<int64_t> labels_of(const torch::Tensor& x) {
  const auto flat = x.to(torch::kCPU).contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

torch::Tensor tensor_of(const Row& values) { return torch::tensor(values, torch::kFloat64); }

Space space_of(const std::vector<int64_t>& n_labels) {
  std::vector<Variable> variables;
  for (const int64_t c : n_labels) variables.push_back({"", c, {}});
  return Space::table(variables);
}

Space small_mixed_space() { return space_of({2, 3, 4}); }

std::vector<TimedPath> both_paths() { return {{make_e_geodesic(0.01), 0.4}, {make_ray(0.5), 3.0}}; }

torch::Tensor tangent_noise(const Space& space, int64_t count, uint64_t seed, double scale) {
  auto out = scale * noise({count, space.n_coordinates()}, seed);
  auto at = out.accessor<double, 2>();
  for (int64_t b = 0; b < count; ++b) {
    int64_t first = 0;
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      const int64_t c = space.n_labels(i);
      double mean = 0.0;
      for (int64_t j = 0; j < c; ++j) mean += at[b][first + j] / static_cast<double>(c);
      for (int64_t j = 0; j < c; ++j) at[b][first + j] -= mean;
      first += c;
    }
  }
  return out;
}

torch::Tensor tangent_frame(const Space& space) {
  std::vector<Row> columns;
  int64_t first = 0;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const int64_t c = space.n_labels(i);
    const size_t start = columns.size();
    for (int64_t k = 0; k + 1 < c; ++k) {
      Row column(space.n_coordinates(), 0.0);
      column[first + k] = 1.0;  // e_k - e_last spans T0; earlier columns of this variable are projected out
      column[first + c - 1] = -1.0;
      for (size_t m = start; m < columns.size(); ++m) {
        double product = 0.0;
        for (int64_t j = first; j < first + c; ++j) product += column[j] * columns[m][j];
        for (int64_t j = first; j < first + c; ++j) column[j] -= product * columns[m][j];
      }
      double squared = 0.0;
      for (const double x : column) squared += x * x;
      for (double& x : column) x /= std::sqrt(squared);
      columns.push_back(column);
    }
    first += c;
  }
  auto frame = torch::empty({space.n_coordinates(), space.n_dims()}, torch::kFloat64);
  for (size_t k = 0; k < columns.size(); ++k) frame.select(1, static_cast<int64_t>(k)).copy_(tensor_of(columns[k]));
  return frame;
}

torch::Tensor some_labels(const Space& space, int64_t count, uint64_t seed) {
  auto labels = torch::empty({count, space.n_variables()}, torch::kInt64);
  auto at = labels.accessor<int64_t, 2>();
  const RandomStream random{seed, Purpose::probe};
  for (int64_t b = 0; b < count; ++b)
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      const double u = uniform_double(random, static_cast<uint64_t>(b * space.n_variables() + i));
      at[b][i] = static_cast<int64_t>(u * static_cast<double>(space.n_labels(i)));
    }
  return labels;
}

Row corner_by_loops(const Space& space, const Path& path, const std::vector<int64_t>& labels) {
  Row u;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const int64_t c = space.n_labels(i);
    for (int64_t j = 0; j < c; ++j)
      u.push_back(path.corner_scale(c) * ((j == labels[i] ? 1.0 : 0.0) - 1.0 / static_cast<double>(c)));
  }
  return u;
}

Exact exact_by_loops(const JointTable& table, const Path& path, const Row& v, double t) {
  const auto at = path.at(t);
  const auto R = static_cast<size_t>(table.p.numel());
  const auto p = values_of(table.p);
  std::vector<Row> corner(R);
  Row log_term(R);
  for (size_t r = 0; r < R; ++r) {
    corner[r] = corner_by_loops(table.space, path, labels_of(table.labelings[static_cast<int64_t>(r)]));
    double squared = 0.0;
    for (size_t k = 0; k < v.size(); ++k) squared += std::pow(v[k] - at.a * corner[r][k], 2);
    const double log_volume =
        0.5 * static_cast<double>(table.space.n_dims()) * std::log(2.0 * std::numbers::pi * at.s * at.s);
    log_term[r] = std::log(p[r]) - 0.5 * squared / (at.s * at.s) - log_volume;
  }
  const double largest = *std::max_element(log_term.begin(), log_term.end());
  double total = 0.0;
  for (const double x : log_term) total += std::exp(x - largest);
  Exact out{largest + std::log(total), Row(R), Row(v.size(), 0.0), Row(v.size(), 0.0)};
  for (size_t r = 0; r < R; ++r) {
    out.posterior[r] = std::exp(log_term[r] - largest) / total;
    for (size_t k = 0; k < v.size(); ++k) {
      out.endpoint[k] += out.posterior[r] * corner[r][k];
      out.velocity[k] += out.posterior[r] * (at.da * corner[r][k] + at.ds * (v[k] - at.a * corner[r][k]) / at.s);
    }
  }
  return out;
}

const torch::Tensor& named(const NamedList& list, const std::string& name) {
  for (const auto& [key, tensor] : list)
    if (key == name) return tensor;
  throw std::out_of_range(name);
}

void to_double(const Field& field) {
  for (const auto* list : {&field.parameters(), &field.buffers()})
    for (const auto& [name, tensor] : *list)
      if (tensor.is_floating_point()) tensor.set_data(tensor.to(torch::kFloat64));
}

double gradient_error(const Field& field, const std::function<double()>& loss, double shift) {
  const torch::NoGradGuard no_grad;
  std::vector<Row> gradients;  // copied first: evaluating the loss may add to them
  for (const auto& [name, parameter] : field.parameters())
    gradients.push_back(parameter.grad().defined() ? values_of(parameter.grad()) : Row(parameter.numel(), 0.0));
  double worst = 0.0;
  for (size_t p = 0; p < gradients.size(); ++p) {
    const auto& parameter = field.parameters()[p].second;
    auto* data = parameter.data_ptr<double>();
    for (int64_t k = 0; k < parameter.numel(); ++k) {
      const double before = data[k];
      data[k] = before + shift;
      const double above = loss();
      data[k] = before - shift;
      const double below = loss();
      data[k] = before;
      worst = std::max(worst, std::abs((above - below) / (2.0 * shift) - gradients[p][k]));
    }
  }
  return worst;
}

torch::Tensor FixedField::forward(const FieldInput& input) {
  shown = input;
  return output_.expand({input.W.size(0), output_.size(0)});
}

}  // namespace segre::test
