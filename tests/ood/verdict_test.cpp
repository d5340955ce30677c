#include "segre/ood/verdict.h"

#include <gtest/gtest.h>

namespace segre::verdict_test {
namespace {

Separation result(OutsideScore::Family family, const std::string& name, double auroc,
                  const Estimate& lead = {0.0, 0.0, 0.0}) {
  return {name, name, family, {auroc, auroc, auroc, 0.0}, lead, 1000, 500};
}

TEST(Verdict, SaysWhenEveryBaselineIsBeaten) {
  EXPECT_EQ(verdict({result(OutsideScore::Family::recommended, "ours", 0.95),
                     result(OutsideScore::Family::bound, "nats", 0.99),
                     result(OutsideScore::Family::baseline, "ink", 0.8, {0.15, 0.12, 0.18}),
                     result(OutsideScore::Family::baseline, "edges", 0.7, {0.25, 0.2, 0.3})}),
            "The recommended score (AUROC 0.9500) beats every baseline; the best is 'ink' 0.8000, the lead over it "
            "0.1500 (95% interval 0.1200 to 0.1800).");
}

TEST(Verdict, SaysWhenABaselineWins) {
  const auto ours = result(OutsideScore::Family::recommended, "ours", 0.95);
  EXPECT_EQ(verdict({ours, result(OutsideScore::Family::baseline, "ink", 0.8, {0.15, 0.12, 0.18}),
                     result(OutsideScore::Family::baseline, "edges", 0.96, {-0.01, -0.016, -0.004})}),
            "A BASELINE WINS: 'edges' 0.9600 needs no model and is better than the recommended score, 0.9500, by "
            "0.0100 (95% interval 0.0040 to 0.0160).");
}

TEST(Verdict, TheBestBaselineIsTheBestInItsBetterDirection) {
  const auto ours = result(OutsideScore::Family::recommended, "ours", 0.95);
  const auto ink = result(OutsideScore::Family::baseline, "ink", 0.02, {-0.03, -0.04, -0.02});
  const auto edges = result(OutsideScore::Family::baseline, "edges", 0.97, {-0.02, -0.03, -0.01});
  for (const auto& baselines : {std::vector{ink, edges}, std::vector{edges, ink}})
    EXPECT_EQ(verdict({ours, baselines[0], baselines[1]}),
              "A BASELINE WINS: 'ink' 0.0200 (0.9800 reversed) needs no model and is better than the recommended "
              "score, 0.9500, by 0.0300 (95% interval 0.0200 to 0.0400); its direction is known only from the outside "
              "data.");
  EXPECT_EQ(verdict({result(OutsideScore::Family::recommended, "ours", 0.9),
                     result(OutsideScore::Family::baseline, "edges", 0.6, {0.3, 0.25, 0.35}),
                     result(OutsideScore::Family::baseline, "ink", 0.3, {0.2, 0.15, 0.25})}),
            "The recommended score (AUROC 0.9000) beats every baseline; the best is 'ink' 0.3000 (0.7000 reversed), "
            "the lead over it 0.2000 (95% interval 0.1500 to 0.2500).");
}

TEST(Verdict, ADifferenceWithinItsIntervalIsNotAWin) {
  EXPECT_EQ(verdict({result(OutsideScore::Family::recommended, "ours", 0.505),
                     result(OutsideScore::Family::baseline, "ink", 0.501, {0.004, -0.02, 0.028})}),
            "NO DETECTABLE DIFFERENCE from a baseline in 1000 inside and 500 outside items: the recommended score has "
            "AUROC 0.5050, 'ink' 0.5010 needs no model; the lead is 0.0040 (95% interval -0.0200 to 0.0280).");
  // Nor is a difference in the other direction.
  EXPECT_EQ(verdict({result(OutsideScore::Family::recommended, "ours", 0.95),
                     result(OutsideScore::Family::baseline, "ink", 0.04, {-0.01, -0.03, 0.01}),
                     result(OutsideScore::Family::baseline, "edges", 0.8, {0.15, 0.12, 0.18})}),
            "NO DETECTABLE DIFFERENCE from a baseline in 1000 inside and 500 outside items: the recommended score has "
            "AUROC 0.9500, 'ink' 0.0400 (0.9600 reversed) needs no model; the lead is -0.0100 (95% interval -0.0300 to "
            "0.0100); its direction is known only from the outside data.");
}

TEST(Verdict, ALeadThatIsCertainAndTinyIsNotAWin) {
  EXPECT_EQ(verdict({result(OutsideScore::Family::recommended, "ours", 0.505),
                     result(OutsideScore::Family::baseline, "ink", 0.501, {0.004, 0.001, 0.007})}),
            "HARDLY ANY DIFFERENCE from a baseline: the recommended score has AUROC 0.5050, 'ink' 0.5010 needs no "
            "model; the lead, 0.0040 (95% interval 0.0010 to 0.0070), is less than a tenth of what the worse one gets "
            "wrong.");
  EXPECT_TRUE(verdict({result(OutsideScore::Family::recommended, "ours", 0.8),
                       result(OutsideScore::Family::baseline, "ink", 0.81, {-0.01, -0.015, -0.005})})
                  .starts_with("HARDLY ANY DIFFERENCE"))
      << "nor is one to the other side";
  // A tenth of what the baseline gets wrong: 0.1 of 0.2.
  EXPECT_TRUE(verdict({result(OutsideScore::Family::recommended, "ours", 0.82),
                       result(OutsideScore::Family::baseline, "ink", 0.8, {0.0201, 0.01, 0.03})})
                  .starts_with("The recommended score (AUROC 0.8200) beats every baseline"));
  EXPECT_TRUE(verdict({result(OutsideScore::Family::recommended, "ours", 0.82),
                       result(OutsideScore::Family::baseline, "ink", 0.8, {0.0199, 0.01, 0.03})})
                  .starts_with("HARDLY ANY DIFFERENCE"));
  // If little is left to gain, a little counts for a lot.
  EXPECT_TRUE(verdict({result(OutsideScore::Family::recommended, "ours", 0.999),
                       result(OutsideScore::Family::baseline, "ink", 0.995, {0.004, 0.001, 0.007})})
                  .starts_with("The recommended score (AUROC 0.9990) beats every baseline"));
}

TEST(Verdict, AScoreThatGuessesIsCalledSo) {
  auto ours = result(OutsideScore::Family::recommended, "ours", 0.51);
  ours.roc.low = 0.49;
  ours.roc.high = 0.53;
  EXPECT_EQ(verdict({ours, result(OutsideScore::Family::baseline, "ink", 0.501, {0.009, 0.001, 0.02})}),
            "NOT SEPARATED: the recommended score has AUROC 0.5100 (95% interval 0.4900 to 0.5300), and 0.5 is "
            "guessing.");
  EXPECT_TRUE(verdict({ours, result(OutsideScore::Family::baseline, "ink", 0.8, {-0.29, -0.3, -0.28})})
                  .starts_with("A BASELINE WINS"));
  // A score that points backwards loses to guessing, which is not to the baseline's credit.
  const auto backwards = result(OutsideScore::Family::recommended, "ours", 0.37);
  auto guess = result(OutsideScore::Family::baseline, "ink", 0.52, {-0.15, -0.2, -0.1});
  guess.roc.low = 0.48;
  guess.roc.high = 0.56;
  EXPECT_TRUE(verdict({backwards, guess}).starts_with("NOT SEPARATED: the recommended score has AUROC 0.3700"));
}

}  // namespace
}  // namespace segre::verdict_test
