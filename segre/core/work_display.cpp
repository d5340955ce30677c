#include "segre/core/work_display.h"

#include <optional>

#include "segre/core/progress.h"

namespace segre {

struct WorkDisplay::Shown {
  std::string what;
  int64_t done = 0;
  std::optional<Progress> bar;
};

WorkDisplay::WorkDisplay() : shown_(std::make_unique<Shown>()) {}
WorkDisplay::~WorkDisplay() = default;

WorkCallbacks WorkDisplay::callbacks() {
  return {.on_progress = [this](const WorkProgress& progress) {
    // Each kind of work, and each round of it, gets its own bar.
    if (!shown_->bar || progress.what != shown_->what || progress.done < shown_->done) {
      shown_->bar.reset();
      shown_->bar.emplace(progress.what, progress.total);
      shown_->what = progress.what;
    }
    shown_->done = progress.done;
    shown_->bar->set_total(progress.total);
    shown_->bar->update(progress.done, progress.note);
  }};
}

}  // namespace segre
