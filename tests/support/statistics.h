#pragma once

#include "segre/data/joint_table.h"

namespace segre::test {

/// How many standard deviations a table's test statistics may be off before a test fails: by chance a correct program
/// would fail once in millions of tries, and seeds are fixed, so it never does.
inline constexpr double kSigmas = 5.0;

/// Pearson's chi-square statistic of samples [N, n] against the table, less its mean, in units of its standard
/// deviation. Both moments are the exact ones of the multinomial, so small expected counts are not a problem.
double chi_square_sigmas(const JointTable& table, const torch::Tensor& samples);

}  // namespace segre::test
