#pragma once

#include <nanobind/nanobind.h>

#include "segre/core/progress.h"
#include "segre/core/tuning.h"

namespace segre::python {

/// Guards a call into the library: other threads of Python continue meanwhile, and the calling thread has the settings
/// that `segre` itself runs with, so that results have the same bits.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  nanobind::gil_scoped_release released_;
  TunedThread tuned_;
};

/// Whether Ctrl-C was pressed; throws what a signal handler of the program raised instead. Looks a few times a second.
bool interrupted();

/// Callbacks for one call: shown on Python's standard error, stopped by Ctrl-C with KeyboardInterrupt.
class Job {
 public:
  WorkCallbacks callbacks();

 private:
  WorkDisplay display_;
};

/// Sends the library's messages to Python's sys.stderr, whose lines may be redrawn if `redraws`.
void send_log_to_python(bool redraws);

/// InputError becomes ValueError; everything else RuntimeError, with one line of text.
void register_errors();

}  // namespace segre::python
