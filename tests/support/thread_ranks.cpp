#include "tests/support/thread_ranks.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "segre/core/error.h"

namespace segre::test {
namespace {

// Tensors on their way between threads.
class Mail {
 public:
  explicit Mail(int size) : size_(size), boxes_(static_cast<size_t>(size * size)) {}

  int size() const { return size_; }
  void put(int from, int to, const torch::Tensor& x) {
    const std::lock_guard lock(mutex_);
    box(from, to).push_back(x.clone());
    change_.notify_all();
  }
  torch::Tensor take(int from, int to) {
    std::unique_lock lock(mutex_);
    change_.wait(lock, [&] { return failure_ || !box(from, to).empty(); });
    if (failure_) fail("another rank failed");
    const auto x = box(from, to).front();
    box(from, to).pop_front();
    return x;
  }
  // Ends everyone's waiting; the first failure counts.
  void give_up(const std::exception_ptr& failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
    change_.notify_all();
  }
  const std::exception_ptr& failure() const { return failure_; }

 private:
  std::deque<torch::Tensor>& box(int from, int to) { return boxes_[static_cast<size_t>(from * size_ + to)]; }

  int size_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::vector<std::deque<torch::Tensor>> boxes_;
  std::exception_ptr failure_;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(int rank, Mail& mail) : Ranks(rank, mail.size()), mail_(mail) {}

  void sum(const torch::Tensor& x) override { x.copy_(gather_equal(x).sum(0)); }
  void broadcast(const torch::Tensor& x) override { x.copy_(gather_equal(x)[0]); }
  void swap(const torch::Tensor& mine, const torch::Tensor& theirs, int partner) override {
    mail_.put(rank(), partner, mine);
    theirs.copy_(mail_.take(partner, rank()));
  }
  void barrier() override { gather_equal(torch::zeros({1})); }

 protected:
  torch::Tensor gather_equal(const torch::Tensor& part) override {
    std::vector<torch::Tensor> all;
    for (int k = 0; k < size(); ++k) mail_.put(rank(), k, part);
    for (int k = 0; k < size(); ++k) all.push_back(mail_.take(k, rank()));
    return torch::stack(all);
  }

 private:
  Mail& mail_;
};

}  // namespace

void as_ranks(int size, const std::function<void(const std::shared_ptr<Ranks>& ranks)>& work) {
  Mail mail(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        work(std::make_shared<ThreadRanks>(rank, mail));
      } catch (...) {
        mail.give_up(std::current_exception());
      }
    });
  for (auto& thread : threads) thread.join();
  if (mail.failure()) std::rethrow_exception(mail.failure());
}

}  // namespace segre::test
