#pragma once

#include "segre/data/joint_table.h"

namespace segre::test {

/// How many standard deviations a table's test statistics may lie off before a test fails: chance makes a correct
/// program fail once in millions of tries, and seeds are fixed, so it never does.
inline constexpr double kSigmas = 5.0;

/// Pearson's chi-square statistic of samples [N, n] against the table, less its mean, in units of its standard
/// deviation. Both moments are the exact ones of the multinomial, so small expected counts are no trouble.
double chi_square_sigmas(const JointTable& table, const torch::Tensor& samples);

}  // namespace segre::test
