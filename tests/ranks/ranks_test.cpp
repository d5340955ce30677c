#include "segre/ranks/ranks.h"

#include "tests/support/messages.h"
#include "tests/support/support.h"
#include "tests/support/thread_ranks.h"

namespace segre::ranks_test {
namespace {

using test::as_ranks;

TEST(Ranks, OneIsFirstAndHasEverything) {
  const auto one = one_rank();
  EXPECT_TRUE(one->is_first());
  EXPECT_FALSE(one->are_many());
  EXPECT_EQ(one->share_of(7).count(), 7);
  const auto x = test::noise({3, 2});
  const auto before = x.clone();
  one->sum(x);
  one->broadcast(x);
  EXPECT_TRUE(torch::equal(x, before));
  EXPECT_TRUE(torch::equal(one->gather(x), before));
  EXPECT_EQ(broadcast_text(*one, "text"), "text");
}

TEST(Ranks, SharesFollowEachOtherAndDifferByOneAtMost) {
  for (const int64_t count : {0, 1, 5, 6, 1000})
    as_ranks(4, [&](const auto& ranks) {
      const Rows own = ranks->share_of(count);
      EXPECT_GE(own.count(), count / 4);
      EXPECT_LE(own.count(), (count + 3) / 4);
      const auto all = ranks->gather(torch::arange(own.from, own.to));
      EXPECT_TRUE(torch::equal(all, torch::arange(count)));
    });
}

TEST(Ranks, PartsOfDifferentLengthsAreGatheredInOrder) {
  const std::vector<int64_t> counts{2, 0, 3, 1};
  const auto whole = test::noise({6, 2, 3});
  as_ranks(4, [&](const auto& ranks) {
    int64_t from = 0;
    for (int k = 0; k < ranks->rank(); ++k) from += counts[k];
    const auto part = whole.narrow(0, from, counts[ranks->rank()]);
    EXPECT_TRUE(torch::equal(ranks->gather(part, counts), whole));
    EXPECT_TRUE(torch::equal(ranks->gather(part), whole));
  });
}

TEST(Ranks, TextsOfTheFirstReachEveryone) {
  for (const std::string text : {"", "one line", "två\nrader"})
    as_ranks(3, [&](const auto& ranks) {
      int n_calls = 0;
      const auto heard = on_first(*ranks, [&] {
        ++n_calls;
        return text;
      });
      EXPECT_EQ(heard, text);
      EXPECT_EQ(n_calls, ranks->is_first() ? 1 : 0);
    });
}

TEST(Ranks, TheFirstFailureOfAnyEndsAll) {
  EXPECT_EQ(test::any_error([] {
              as_ranks(3, [](const auto& ranks) {
                if (ranks->rank() == 1) fail("rank 1 has had enough");
                ranks->barrier();
              });
            }),
            "rank 1 has had enough");
}

}  // namespace
}  // namespace segre::ranks_test
