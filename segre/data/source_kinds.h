#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "segre/data/source.h"
#include "segre/data/source_name.h"

namespace segre {

/// A kind of source: what follows its name, what it is, its options, and how it is opened.
struct SourceKind {
  std::string name;    ///< "idx"
  std::string target;  ///< "FILE" or "DIR" after a colon; empty for what is built in
  std::string help;    ///< one line
  std::vector<SourceOption> options;
  std::function<std::unique_ptr<DataSource>(const SourceName&)> open;
  bool exact = false;  ///< the exact distribution is known, see DataSource::joint

  /// As on the command line: "idx:FILE".
  std::string usage() const { return target.empty() ? name : name + ":" + target; }
};

/// Every kind there is, the built-in ones first: what open_source opens and help lists.
const std::vector<SourceKind>& source_kinds();

/// Whether a source's exact distribution is known, told by its name alone: nothing is opened.
bool is_exact(const SourceName& name);

}  // namespace segre
