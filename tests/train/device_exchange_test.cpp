// What ranks exchange in a step on devices, here on the CPU and by threads: who keeps what, and that nothing is lost.

#include "segre/train/device_exchange.h"

#include <torch/csrc/autograd/autograd.h>

#include "segre/kernels/copy_each.h"
#include "segre/ranks/device_ranks.h"
#include "segre/train/adam.h"
#include "tests/support/support.h"
#include "tests/support/thread_ranks.h"

namespace segre::device_exchange_test {
namespace {

using kernels::in_memory_order;
using Tensors = std::vector<torch::Tensor>;

constexpr int64_t kBatch = 5;
constexpr int kMostRanks = 4;

// Small whole numbers, which every type holds exactly; sizes that ranks cannot share evenly, two types and layouts.
torch::Tensor whole_numbers(at::IntArrayRef shape, uint64_t seed) { return (3.0 * test::noise(shape, seed)).round(); }

Tensors parameters() {
  Tensors out{whole_numbers({3}, 1).to(torch::kFloat32),
              whole_numbers({4, 3, 5, 5}, 2).to(torch::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast),
              whole_numbers({7, 11}, 3).to(torch::kFloat32),
              whole_numbers({1}, 4).to(torch::kBFloat16),
              whole_numbers({300}, 5).to(torch::kBFloat16),
              whole_numbers({2, 2}, 6).to(torch::kFloat32)};
  for (auto& parameter : out) parameter.requires_grad_(true);
  return out;
}

constexpr size_t kUnused = 5;  // this parameter has no gradient

torch::Tensor factor_of(const Tensors& all, size_t k) {
  const auto numbers = whole_numbers(all[k].sizes(), 10 + k).to(all[k].scalar_type());
  return torch::empty_like(all[k].detach()).copy_(numbers);
}

struct Rank {
  Tensors all = parameters();
  std::shared_ptr<DeviceExchange> exchange;

  explicit Rank(Ranks& ranks)
      : exchange(std::make_shared<DeviceExchange>(all, kBatch, ranks.share_of(kBatch), make_host_ranks(ranks),
                                                  torch::kFloat32)) {}
  // A backward pass in which every gradient is its factor times the number of the rank, from 1.
  void backward(const Ranks& ranks) {
    exchange->begin();
    torch::Tensor sum = torch::zeros({1});
    for (size_t k = 0; k < all.size(); ++k)
      if (k != kUnused) sum = sum + (all[k] * factor_of(all, k)).sum().to(torch::kFloat32) * (ranks.rank() + 1.0);
    torch::autograd::grad({sum}, all, {}, std::nullopt, false, /*allow_unused=*/true);
    const Rows own = ranks.share_of(kBatch);
    const auto items = torch::arange(own.from, own.to, torch::kFloat32);
    exchange->end(items, 10 * items, items > 1.5);
    exchange->finish_sums();
  }
  torch::Tensor own_part(size_t k, const torch::Tensor& x) const {
    return in_memory_order(x).narrow(0, exchange->own(k).from, exchange->own(k).count());
  }
};

TEST(DeviceExchange, EveryNumberHasOneKeeper) {
  for (int size = 1; size <= kMostRanks; ++size)
    test::as_ranks(size, [&](const auto& ranks) {
      const Rank rank(*ranks);
      for (size_t k = 0; k < rank.all.size(); ++k) {
        auto keepers = torch::zeros({rank.all[k].numel()}, torch::kInt64);
        const Rows own = rank.exchange->own(k);
        keepers.slice(0, own.from, own.to).fill_(1);
        ranks->sum(keepers);
        EXPECT_TRUE(torch::equal(keepers, torch::ones_like(keepers))) << size << " ranks, parameter " << k;
      }
    });
}

TEST(DeviceExchange, GradientsAreAddedUpWhereTheyAreKept) {
  for (int size = 1; size <= kMostRanks; ++size)
    test::as_ranks(size, [&](const auto& ranks) {
      Rank rank(*ranks);
      for (int step = 0; step < 2; ++step) {  // nothing of a step is left in the next
        rank.backward(*ranks);
        const auto sums = rank.exchange->gradients();
        for (size_t k = 0; k < rank.all.size(); ++k) {
          const auto expected = rank.own_part(k, factor_of(rank.all, k)).to(torch::kFloat32) * (size * (size + 1) / 2);
          ASSERT_EQ(sums[k].defined(), k != kUnused && expected.numel() > 0);
          if (sums[k].defined()) {
            EXPECT_TRUE(torch::equal(sums[k], expected)) << size << " ranks, parameter " << k;
          }
        }
      }
    });
}

TEST(DeviceExchange, ItemsAndNormsAreThoseOfTheWholeBatch) {
  for (int size = 1; size <= kMostRanks; ++size)
    test::as_ranks(size, [&](const auto& ranks) {
      Rank rank(*ranks);
      for (int step = 0; step < 2; ++step) {
        rank.backward(*ranks);
        rank.exchange->squared_norm().fill_(ranks->rank() + 1.0);
        rank.exchange->sum_items();
        const auto items = torch::arange(kBatch, torch::kFloat32);
        EXPECT_TRUE(torch::equal(rank.exchange->loss(), items));
        EXPECT_TRUE(torch::equal(rank.exchange->error(), 10 * items));
        EXPECT_TRUE(torch::equal(rank.exchange->plain(), items > 1.5));
        EXPECT_EQ(rank.exchange->squared_norm().item<double>(), size * (size + 1) / 2);
      }
    });
}

TEST(DeviceExchange, ParametersOfTheirKeepersReachEveryone) {
  for (int size = 1; size <= kMostRanks; ++size)
    test::as_ranks(size, [&](const auto& ranks) {
      const torch::NoGradGuard no_grad;
      const Rank rank(*ranks);
      const auto before = parameters();
      for (size_t k = 0; k < rank.all.size(); ++k) rank.own_part(k, rank.all[k].detach()).mul_(2);
      rank.exchange->pack();
      rank.exchange->spread();
      rank.exchange->unpack();
      for (size_t k = 0; k < rank.all.size(); ++k)
        EXPECT_TRUE(torch::equal(rank.all[k], 2 * before[k])) << size << " ranks, parameter " << k;
    });
}

// Adam's state for `all`, made up.
NamedTensors made_up_state(const Tensors& all) {
  NamedTensors state{{"adam.step", torch::tensor(int64_t{7}, torch::kInt64)}};
  uint64_t seed = 100;
  for (const char* part : {"weights.", "adam.m.", "adam.v.", "ema."})
    for (size_t k = 0; k < all.size(); ++k)
      state[part + std::to_string(k)] = test::noise(all[k].sizes(), seed++).to(torch::kFloat32);
  return state;
}

TEST(DeviceExchange, TheOptimisersStateGoesOutToItsKeepersAndComesBack) {
  const auto state = made_up_state(parameters());
  for (int size = 1; size <= kMostRanks; ++size)
    test::as_ranks(size, [&](const auto& ranks) {
      Rank rank(*ranks);
      std::vector<std::pair<std::string, torch::Tensor>> named;
      Tensors weights;
      for (size_t k = 0; k < rank.all.size(); ++k) {
        named.emplace_back(std::to_string(k), rank.all[k]);
        const auto& parameter = rank.all[k];
        weights.push_back(parameter.scalar_type() == torch::kFloat32 ? parameter.detach()
                                                                     : parameter.detach().to(torch::kFloat32));
      }
      Adam adam(named, {}, rank.exchange, weights);
      adam.load(state);
      for (size_t k = 0; k < rank.all.size(); ++k)
        EXPECT_TRUE(torch::equal(rank.all[k], state.at("weights." + std::to_string(k)).to(rank.all[k].scalar_type())));
      const auto found = adam.state();
      const auto average = adam.average();
      for (const auto& [name, tensor] : state) {
        EXPECT_EQ(found.at(name).sizes(), tensor.sizes()) << name;
        if (ranks->is_first()) {
          EXPECT_TRUE(torch::equal(found.at(name), tensor)) << size << " ranks, " << name;
        }
      }
      for (const auto& [name, tensor] : average) EXPECT_TRUE(torch::equal(tensor, state.at("ema." + name))) << name;
    });
}

}  // namespace
}  // namespace segre::device_exchange_test
