#include "work.h"

#include <nanobind/stl/string.h>

#include "segre/core/clock.h"
#include "segre/core/log.h"

namespace nb = nanobind;

namespace segre::python {
namespace {

// Python's sys.stderr, whatever it is at the moment: a terminal, a notebook, a file of a test.
class PythonErrors final : public std::streambuf {
 protected:
  int_type overflow(int_type c) override {
    if (c == traits_type::eof()) return traits_type::not_eof(c);
    const char character = traits_type::to_char_type(c);
    xsputn(&character, 1);
    return c;
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    pending_.append(text, static_cast<size_t>(count));
    if (pending_.find('\n') != std::string::npos) sync();
    return count;
  }
  int sync() override {
    if (pending_.empty() || Py_IsInitialized() == 0) return 0;
    const nb::gil_scoped_acquire gil;
    const std::string text = std::exchange(pending_, {});
    try {
      const nb::object out = nb::module_::import_("sys").attr("stderr");
      if (out.is_none()) return 0;
      out.attr("write")(text);
      out.attr("flush")();
    } catch (const nb::python_error&) {
      // Messages must not end the work.
    }
    return 0;
  }

 private:
  static thread_local std::string pending_;  // of a line; each thread writes its own
};

thread_local std::string PythonErrors::pending_;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

bool interrupted() {
  constexpr double kPause = 0.05;
  static thread_local double last = 0.0;
  if (now_seconds() - last < kPause) return false;
  last = now_seconds();
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) throw nb::python_error();
  PyErr_Clear();
  return true;
}

WorkCallbacks Job::callbacks() {
  WorkCallbacks callbacks = display_.callbacks();
  callbacks.stop = interrupted;
  return callbacks;
}

void send_log_to_python(bool redraws) {
  static PythonErrors buffer;
  static std::ostream stream(&buffer);
  send_log_to(&stream, redraws);
}

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Interrupted&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    } catch (const InputError& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const c10::OutOfMemoryError& error) {
      PyErr_SetString(PyExc_MemoryError, first_line(error.what_without_backtrace()).c_str());
    } catch (const c10::Error& error) {
      PyErr_SetString(PyExc_RuntimeError, first_line(error.what_without_backtrace()).c_str());
    }
  });
}

}  // namespace segre::python
