#pragma once  // internal

// exp, log and sin/cos of 2 pi x in float32, built from additions, multiplications and integer
// operations alone. Those are rounded the same way on every CPU and on CUDA (with contraction into
// fused multiply-adds switched off, see CMakeLists.txt), so the functions below return the same bits
// everywhere, and a loop over them vectorises. A libm guarantees neither.

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SEGRE_HOST_DEVICE __host__ __device__ inline
#else
#define SEGRE_HOST_DEVICE [[gnu::always_inline]] inline
#endif

namespace segre::scalar_math {

/// Maximum relative error of exp(x) on [-87, 87], and of log(x) on normal numbers away from 1 (absolute
/// near 1). scalar_math_test.cpp checks the functions against these constants.
inline constexpr float kExpTol = 2.5e-7f;
inline constexpr float kLogTol = 2.5e-7f;
/// Maximum absolute error of sin and cos of 2 pi x on [0, 1).
inline constexpr float kSinCosTol = 5e-7f;

SEGRE_HOST_DEVICE float float_from_bits(int32_t bits) {
#ifdef __CUDA_ARCH__
  return __int_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

SEGRE_HOST_DEVICE int32_t bits_from_float(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_int(value);
#else
  int32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}

/// e^x; 0 below -87.3 (where the result would be subnormal), e^88 above 88.
SEGRE_HOST_DEVICE float exp(float x) {
  const float clamped = x < -87.3f ? -87.3f : (x > 88.0f ? 88.0f : x);
  // x = k log 2 + r with |r| <= log(2)/2; adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
  constexpr float kRound = 12582912.0f;
  const float shifted = clamped * 1.44269504f + kRound;
  const int32_t k = bits_from_float(shifted) - bits_from_float(kRound);
  const float k_real = shifted - kRound;
  // log 2 in two parts, the first short enough that k * part is exact.
  const float r = (clamped - k_real * 0.693359375f) - k_real * -2.12194440e-4f;
  // Taylor's polynomial of degree 7: truncation error below 6e-9 on |r| <= 0.347.
  float p = 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  const float scaled = p * float_from_bits((k + 127) << 23);
  return x < -87.3f ? 0.0f : scaled;
}

/// log(x) for normal positive x.
SEGRE_HOST_DEVICE float log(float x) {
  // x = 2^k m with m in [sqrt(1/2), sqrt 2): subtracting the bits of sqrt(1/2) makes the split a shift.
  constexpr int32_t kSqrtHalfBits = 0x3f3504f3;
  const int32_t bits = bits_from_float(x);
  const int32_t k = (bits - kSqrtHalfBits) >> 23;
  const float m = float_from_bits(bits - (k << 23));
  // log m = 2 atanh(s), s = (m-1)/(m+1), |s| <= 0.1716.
  const float f = m - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s;
  float p = 0.22222222f;  // 2/9
  p = p * z + 0.28571429f;
  p = p * z + 0.4f;
  p = p * z + 0.66666667f;
  // log m = f - s (f - z p): the leading term f is exact, so the result keeps its relative accuracy near 1.
  const float log_m = f - s * (f - z * p);
  const float k_real = static_cast<float>(k);
  return k_real * 0.693359375f + (log_m + k_real * -2.12194440e-4f);
}

/// sine and cosine of 2 pi x for x in [0, 1).
SEGRE_HOST_DEVICE void sincos_2pi(float x, float& sine, float& cosine) {
  // Quarter turns: x = q/4 + r with |r| <= 1/8.
  constexpr float kRound = 12582912.0f;
  const float shifted = x * 4.0f + kRound;
  const int32_t q = bits_from_float(shifted) - bits_from_float(kRound);
  const float a = (x - (shifted - kRound) * 0.25f) * 6.28318531f;  // |a| <= pi/4
  const float z = a * a;
  float ps = 2.75573192e-6f;
  ps = ps * z + -1.98412698e-4f;
  ps = ps * z + 8.33333333e-3f;
  ps = ps * z + -1.66666667e-1f;
  const float s = ps * z * a + a;
  float pc = 2.48015873e-5f;
  pc = pc * z + -1.38888889e-3f;
  pc = pc * z + 4.16666667e-2f;
  pc = pc * z + -0.5f;
  const float c = pc * z + 1.0f;
  const float sin_abs = (q & 1) != 0 ? c : s;
  const float cos_abs = (q & 1) != 0 ? s : c;
  sine = (q & 2) != 0 ? -sin_abs : sin_abs;
  cosine = ((q + 1) & 2) != 0 ? -cos_abs : cos_abs;
}

}  // namespace segre::scalar_math
