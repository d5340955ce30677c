#include "segre/kernels/dense.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "segre/core/parallel.h"
#include "segre/core/simd.h"

namespace segre::kernels {
namespace {

constexpr int64_t kRows = 128;  // rows per task and per block of the sum

SEGRE_MULTIVERSION
void shift_rows(float* __restrict x, const float* __restrict shift, int64_t rows, int64_t width, int64_t shift_stride,
                bool relu) {
  for (int64_t b = 0; b < rows; ++b, x += width, shift += shift_stride) {
    if (relu) {
      for (int64_t j = 0; j < width; ++j) {
        const float y = x[j] + shift[j];
        x[j] = y < 0.0f ? 0.0f : y;  // written this way, NaN stays NaN and is noticed
      }
    } else {
      for (int64_t j = 0; j < width; ++j) x[j] += shift[j];
    }
  }
}

SEGRE_MULTIVERSION
void mask_rows(float* __restrict gradient, float* __restrict sum, const float* __restrict grad,
               const float* __restrict out, int64_t rows, int64_t width) {
  for (int64_t b = 0; b < rows; ++b)
    for (int64_t j = 0; j < width; ++j) {
      const float g = out[b * width + j] > 0.0f ? grad[b * width + j] : 0.0f;
      gradient[b * width + j] = g;
      sum[j] += g;
    }
}

SEGRE_MULTIVERSION
void sum_rows(float* __restrict sum, const float* __restrict grad, int64_t rows, int64_t width) {
  for (int64_t b = 0; b < rows; ++b)
    for (int64_t j = 0; j < width; ++j) sum[j] += grad[b * width + j];
}

}  // namespace

void shift_relu_(const torch::Tensor& x, const torch::Tensor& shift, bool relu) {
  const int64_t width = x.size(1);
  const int64_t stride = shift.dim() == 2 && shift.size(0) > 1 ? width : 0;
  const auto shift_here = shift.contiguous();
  auto* at = x.data_ptr<float>();
  const auto* by = shift_here.data_ptr<float>();
  parallel_for(0, x.size(0), kRows, [&](int64_t begin, int64_t end) {
    shift_rows(at + begin * width, by + begin * stride, end - begin, width, stride, relu);
  });
}

ReluGradient relu_gradient(const torch::Tensor& grad_in, const torch::Tensor& out, bool relu) {
  const auto grad = grad_in.contiguous();
  const int64_t n = grad.size(0);
  const int64_t width = grad.size(1);
  const int64_t n_blocks = (n + kRows - 1) / kRows;
  ReluGradient result{relu ? torch::empty_like(grad) : grad, {}};
  auto partial = torch::zeros({n_blocks, width}, grad.options());
  const auto* g = grad.data_ptr<float>();
  const auto* y = relu ? out.data_ptr<float>() : nullptr;
  auto* masked = result.gradient.data_ptr<float>();
  auto* sums = partial.data_ptr<float>();
  parallel_for(0, n_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t from = k * kRows;
      const int64_t rows = std::min(kRows, n - from);
      if (relu) {
        mask_rows(masked + from * width, sums + k * width, g + from * width, y + from * width, rows, width);
      } else {
        sum_rows(sums + k * width, g + from * width, rows, width);
      }
    }
  });
  result.sum = torch::zeros({width}, grad.options());
  sum_rows(result.sum.data_ptr<float>(), sums, n_blocks, width);
  return result;
}

}  // namespace segre::kernels

namespace segre {
namespace {

class FusedDense : public torch::autograd::Function<FusedDense> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& shift, bool relu) {
    auto out = torch::mm(x, weight.t());
    kernels::shift_relu_(out, shift, relu);
    context->save_for_backward({x, weight, out});
    context->saved_data["relu"] = relu;
    context->saved_data["shift_per_item"] = shift.dim() == 2;
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto& weight = saved[1];
    const auto out = kernels::relu_gradient(grads[0], saved[2], context->saved_data["relu"].toBool());
    const auto grad_x = context->needs_input_grad(0) ? torch::mm(out.gradient, weight) : torch::Tensor();
    const auto grad_weight = context->needs_input_grad(1) ? torch::mm(out.gradient.t(), x) : torch::Tensor();
    const auto grad_shift = context->saved_data["shift_per_item"].toBool() ? out.gradient : out.sum;
    return {grad_x, grad_weight, grad_shift, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor dense(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& shift,
                    Activation activation) {
  const bool relu = activation == Activation::relu;
  if (x.is_cpu() && x.scalar_type() == torch::kFloat32) return FusedDense::apply(x, weight, shift, relu);
  const auto out = torch::addmm(shift, x, weight.t());
  return relu ? out.relu() : out;
}

}  // namespace segre
