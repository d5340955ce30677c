// A server without a network: `session RUN COLUMN < ROWS.json` predicts a column for rows such as {"sky": "rain"}, one
// request each, on four threads that share one Session, and prints what a request takes.
#include <segre/core/tuning.h>
#include <segre/tasks/session.h>
#include <segre/tasks/to_json.h>
#include <sys/resource.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

int main(int, char** argv) {
  segre::tune_process();
  const segre::Session session(segre::load_run(argv[1], torch::kCPU), argv[1]);
  const auto rows = segre::Json::parse(std::cin);
  std::vector<double> ms(200);
  std::atomic<size_t> next = 0;
  const auto serve = [&] {
    for (size_t k = next++; k < ms.size(); k = next++) {
      const auto start = std::chrono::steady_clock::now();
      const segre::DeadlineGuard guard(/*seconds=*/10.0);
      segre::ItemsInMemory row(segre::items_of(session.space(), segre::Json::array({rows[k % rows.size()]})));
      const segre::Predicted answer = session.predict(row, {.column = argv[2]});
      if (k == 0) std::cout << segre::text_of(segre::to_json(answer));
      ms[k] = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }
  };
  {
    const std::jthread threads[] = {std::jthread(serve), std::jthread(serve), std::jthread(serve), std::jthread(serve)};
  }
  std::sort(ms.begin(), ms.end());
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::cout << "a row takes " << ms[100] << " ms (median), " << ms[198] << " ms (99%); " << used.ru_maxrss / 1024
            << " MB\n";
}
