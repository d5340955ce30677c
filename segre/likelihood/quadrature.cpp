#include "segre/likelihood/quadrature.h"

namespace segre {
namespace {

// Nodes and weights on [-1, 1], the half with positive nodes, centre last (Kronrod 1965; tabulated in QUADPACK).
constexpr int kHalf = 8;
constexpr double kNodes[kHalf] = {0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
                                  0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
                                  0.586087235467691130294144691693301, 0.405845151377397166906606412076961,
                                  0.207784955007898467600689403773245, 0.0};
constexpr double kWeights[kHalf] = {0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
                                    0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
                                    0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
                                    0.204432940075298892414161999234649, 0.209482141084727828012999174891714};
constexpr double kGaussWeights[kHalf] = {
    0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780,
    0.0, 0.381830050505118944950369775488975, 0.0, 0.417959183673469387755102040816327};

KronrodRule make_rule() {
  KronrodRule rule{};
  const int last = static_cast<int>(rule.nodes.size()) - 1;
  for (int k = 0; k < kHalf; ++k) {
    for (const int place : {k, last - k}) {
      rule.nodes[place] = 0.5 * (1.0 + (place < kHalf ? -kNodes[k] : kNodes[k]));
      rule.weights[place] = 0.5 * kWeights[k];
      rule.gauss_weights[place] = 0.5 * kGaussWeights[k];
    }
  }
  return rule;
}

}  // namespace

const KronrodRule& kronrod_rule() {
  static const KronrodRule rule = make_rule();
  return rule;
}

}  // namespace segre
