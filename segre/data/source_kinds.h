#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "segre/data/source.h"
#include "segre/data/source_name.h"

namespace segre {

/// What a source is opened for: a model that knows its labels already.
struct Wanted {
  Space space;
  std::string what;        ///< the option and the source's name, for messages
  int64_t most_items = 0;  ///< how many items are needed, 0: all; a reader need not go on behind them
};

/// A kind of source: what follows its name, what it is, its options, and how it is opened.
struct SourceKind {
  std::string name;    ///< "idx"
  std::string target;  ///< "FILE" or "DIR" after a colon; empty for what is built in
  std::string help;    ///< one line
  std::vector<SourceOption> options;
  /// Where something is wanted, a reader need not judge what it reads by itself, and may give it in the space wanted;
  /// relabel matches what it gives otherwise.
  std::function<std::unique_ptr<DataSource>(const SourceName&, const Wanted*)> open;
  bool exact = false;  ///< the exact distribution is known, see DataSource::joint

  /// As on the command line: "idx:FILE".
  std::string usage() const { return target.empty() ? name : name + ":" + target; }
};

/// Every kind there is, the built-in ones first: what open_source opens and help lists.
const std::vector<SourceKind>& source_kinds();

/// As open_source(name), for what is wanted (nullptr: for itself). What comes back may be of another space still:
/// open_source_for is what callers want.
std::unique_ptr<DataSource> open_source(const std::string& name, const Wanted* wanted);

/// Whether a source's exact distribution is known, told by its name alone: nothing is opened.
bool is_exact(const SourceName& name);

}  // namespace segre
