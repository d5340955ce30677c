#include "segre/core/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <utility>

namespace segre {
namespace {

// Discards everything written to it.
class Nowhere final : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
  std::streamsize xsputn(const char*, std::streamsize count) override { return count; }
};

std::ostream& silence() {
  static Nowhere nowhere;
  static std::ostream stream(&nowhere);
  return stream;
}

std::atomic<std::ostream*> g_out{nullptr};
std::atomic<bool> g_redraws{false};
thread_local NoteCollector* innermost = nullptr;

}  // namespace

std::ostream& log_stream() {
  std::ostream* out = g_out;
  return out != nullptr ? *out : silence();
}

void send_log_to(std::ostream* out, bool redraws) {
  g_out = out;
  g_redraws = redraws;
}

void send_log_to(std::ostream* out) { send_log_to(out, out == &std::cerr && ::isatty(STDERR_FILENO) != 0); }

bool log_redraws() { return g_redraws; }

void log_note(const std::string& text) {
  if (innermost == nullptr) {
    log_stream() << one_line("note: " + text) << '\n';
    return;
  }
  auto& notes = innermost->notes_;
  const std::string line = one_line(text);
  if (std::find(notes.begin(), notes.end(), line) == notes.end()) notes.push_back(line);
}

void log_notes(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) log_note(text);
}

NoteCollector::NoteCollector() : outer_(std::exchange(innermost, this)) {}

NoteCollector::~NoteCollector() {
  innermost = outer_;
  log_notes(notes_);
}

std::vector<std::string> NoteCollector::take() { return std::exchange(notes_, {}); }

}  // namespace segre
