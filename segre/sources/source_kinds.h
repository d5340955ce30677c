#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "segre/data/source.h"
#include "segre/data/source_name.h"
#include "segre/read/lacking.h"

namespace segre {

/// What a source is opened for: a model that already knows its labels.
struct Wanted {
  Space space;
  std::string what;                      ///< the option and the source's name, for messages
  int64_t most_items = 0;                ///< how many items are needed, 0: all; a reader may stop after them
  Unknowns unknowns = Unknowns::refuse;  ///< missing values are to be read as kUnknown, whatever missing= is
  Lacking lacking = Lacking::refuse;     ///< what becomes of columns that a table lacks
};

/// A kind of source: what follows its name, what it is, its options, and how to open it.
struct SourceKind {
  std::string name;    ///< "idx"
  std::string target;  ///< "FILE" or "DIR" after a colon; empty for built-in kinds
  std::string help;    ///< one line
  std::vector<SourceOption> options;
  /// Given a Wanted, a reader need not judge what it reads, and may return items in the wanted space; relabel converts
  /// them otherwise.
  std::function<std::unique_ptr<DataSource>(const SourceName&, const Wanted*)> open;
  bool exact = false;  ///< the exact distribution is known, see DataSource::joint

  /// As on the command line: "idx:FILE".
  std::string usage() const { return target.empty() ? name : name + ":" + target; }
};

/// All kinds, the built-in ones first: what open_source opens and the help lists.
const std::vector<SourceKind>& source_kinds();

/// Opens a source named as on the command line; InputError lists the available kinds and options.
std::unique_ptr<DataSource> open_source(const std::string& name);

/// As open_source(name), for a model (nullptr: none). The result may still be in another space: callers usually want
/// open_source_for.
std::unique_ptr<DataSource> open_source(const std::string& name, const Wanted* wanted);

/// InputError if a name has options that its kind does not know; open_source checks this, too.
void require_known_options(const SourceName& name);

/// Whether a source's exact distribution is known, from its name alone: nothing is opened.
bool is_exact(const SourceName& name);

}  // namespace segre
