#pragma once  // internal

// The interface between path_kernels.cpp and path_kernels.cu: sizes and raw pointers, so that nvcc does not have to
// parse LibTorch. All pointers are to memory of the device. Everything is launched on `cuda_stream`; nothing allocates
// or waits.

#include <cstdint>

namespace segre::kernels::detail {

/// The mark of a variable that the flow carries: kUnknown of space.h.
inline constexpr int64_t kCarried = -1;

/// Numbers [B], [1] or [B, n]: that of variable i in row b is values[b * row + i * step].
struct PerRow {
  const float* values = nullptr;  ///< null: none
  int64_t row = 0, step = 0;
};

/// B rows of n variables and S coordinates, and what is known of them.
struct PathRows {
  int64_t B, n, S;
  int64_t n_labels;       ///< c of every variable, or 0 if they differ
  int64_t max_labels;     ///< the largest c
  const int64_t* starts;  ///< [n] where each variable's labels start; null if all have c
  const float* kappa;     ///< [n]
  const int64_t* marks;   ///< [B, n] or null; see KnownRows
  const float* soft;      ///< [B, S] or null
};

/// See EvidenceRatios.
struct EvidenceNumbers {
  PerRow scale;
  PerRow ratio{};
  const float* last_ratio = nullptr;  ///< [1]
  const float* soft_odds = nullptr;   ///< [B, n] or null
};

/// Where evidence_cuda writes. Without `strength`, only `scale` of EvidenceNumbers is read.
struct EvidenceOutputs {
  float* W;                       ///< [B, S]
  float* strength = nullptr;      ///< [B, n] or null
  float* standardised = nullptr;  ///< [B, S] or null; needs the strength
};

void gaussian_path_cuda(const PathRows& rows, float* noise, const int64_t* labels, const PerRow& a, const PerRow& s,
                        void* cuda_stream);

/// Both scaled_softmax and evidence_inputs.
void evidence_cuda(const PathRows& rows, const float* v, const EvidenceNumbers& numbers, const EvidenceOutputs& out,
                   void* cuda_stream);

/// `of_variables` is [2, B, n]: the losses and errors that are summed to `loss` and `error` [B].
void cross_entropy_cuda(const PathRows& rows, const float* message, const float* v, const PerRow& scale,
                        const int64_t* labels, const float* weight, float* gradient, float* of_variables, float* loss,
                        float* error, void* cuda_stream);

void endpoint_velocity_cuda(const PathRows& rows, const float* message, const float* v, float scale, float alpha,
                            float pull, float* out, void* cuda_stream);

}  // namespace segre::kernels::detail
