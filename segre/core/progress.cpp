#include "segre/core/progress.h"

#include <algorithm>
#include <optional>

#include "segre/core/clock.h"
#include "segre/core/log.h"

namespace segre {
namespace {

constexpr auto kBarPause = std::chrono::milliseconds(100);
constexpr auto kLinePause = std::chrono::seconds(10);

}  // namespace

Progress::Progress(std::string what, int64_t total, int64_t done)
    : what_(std::move(what)), total_(total), first_(done), done_(done), redraws_(log_redraws()), last_drawn_(start_) {}

Progress::~Progress() {
  if (redraws_) log_stream() << "\r\033[K" << std::flush;
}

void Progress::update(int64_t done, const std::string& note) {
  done_ = done;
  const auto pause = redraws_ ? Clock::duration(kBarPause) : Clock::duration(kLinePause);
  if (Clock::now() - last_drawn_ < pause) return;
  last_drawn_ = Clock::now();
  draw(note);
}

void Progress::draw(const std::string& note) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = static_cast<double>(done_ - first_) / std::max(elapsed, 1e-9);
  const double left = rate > 0.0 ? static_cast<double>(total_ - done_) / rate : 0.0;
  const double part =
      std::clamp(static_cast<double>(done_) / static_cast<double>(std::max<int64_t>(1, total_)), 0.0, 1.0);
  if (!redraws_) {
    log_stream() << what_ << ' ' << done_ << '/' << total_ << "  " << note << (note.empty() ? "" : "  ")
                 << format_seconds(left) << " left\n";
    return;
  }
  constexpr int kWidth = 28;
  const int filled = static_cast<int>(part * kWidth);
  log_stream() << '\r' << what_ << " [" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] "
               << static_cast<int>(100.0 * part) << "%  " << note << (note.empty() ? "" : "  ") << format_seconds(left)
               << " left\033[K" << std::flush;
}

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
