#include "segre/runs/resume.h"

#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/data/label_counts.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& run, const std::string& difference) {
  fail_input(run.string(), ": ", difference,
             " when the checkpoint was made; resuming continues the same run, another directory starts a new one");
}

std::string plural(int64_t count, const std::string& noun) { return concat(count, " ", noun, count == 1 ? "" : "s"); }

std::string with_article(const Space& space) {
  return concat(words_of(space.parts().front().kind).article, " ", space.describe());
}

// Describes how two spaces differ; "" if they do not. Colours change pictures, not meaning.
std::string difference(const Space& now, const Space& then) {
  if (!now.is_arranged_like(then))
    return concat("the data are ", with_article(now), " now and were ", with_article(then));
  const int64_t n = shares_labels(now) ? 1 : now.n_variables();
  for (int64_t i = 0; i < n; ++i) {
    if (now.variable_name(i) != then.variable_name(i))
      return concat("variable ", i + 1, " of the data is '", now.variable_name(i), "' now and was '",
                    then.variable_name(i), "'");
    if (now.n_labels(i) != then.n_labels(i))
      return concat("variable ", now.variable_name(i), " has ", plural(now.n_labels(i), "label"), " now and had ",
                    then.n_labels(i));
    for (int64_t label = 0; label < now.n_labels(i); ++label)
      if (now.label_name(i, label) != then.label_name(i, label))
        return concat("label ", label, " of variable ", now.variable_name(i), " is '", now.label_name(i, label),
                      "' now and was '", then.label_name(i, label), "'");
    const auto bins_of = [i](const Space& space) { return space.bins(i) ? space.bins(i)->to_json() : nlohmann::json(); };
    if (bins_of(now) != bins_of(then)) return concat("column ", now.variable_name(i), " has other levels now");
  }
  return "";
}

// "data.source = csv:b.csv": the data in messages.
std::string called(const char* key, const std::string& name) { return name.empty() ? key : concat(key, " = ", name); }

}  // namespace

void require_same_config(const fs::path& run, const CheckpointDescription& before, Experiment now) {
  Experiment then = before.experiment;
  std::vector<std::string> found;
  for (const auto& key : schema_of(now).differences(schema_of(then)))
    if (key.later == Later::fixed) found.push_back(concat(key.key, " is ", key.value, " now and was ", key.other));
  if (!found.empty()) refuse(run, join(found, ", "));
}

void require_enough_steps(const fs::path& run, const CheckpointDescription& before, int64_t steps) {
  if (steps < before.step)
    fail_input(run.string(), ": train.steps is ", steps, " and ", before.step,
               " steps are done; a larger train.steps continues");
}

std::shared_ptr<DataSource> open_to_resume(const CheckpointDescription& before, const Experiment& now) {
  const auto asked = parse_source_name(now.data);
  const auto then = parse_source_name(before.experiment.data);
  bool same_labels = true;
  for (const char* option : {"labels", "dictionary", "bins"})
    same_labels = same_labels && asked.word(option, "") == then.word(option, "");
  const Wanted wanted{before.space, "data.source = " + now.data};
  return open_source(now.data, same_labels ? &wanted : nullptr);
}

void require_same_space(const fs::path& run, const CheckpointDescription& before, const Space& now) {
  if (const auto found = difference(now, before.space); !found.empty()) refuse(run, found);
}

void require_same_data(const fs::path& run, const CheckpointDescription& before, const Experiment& asked,
                       const DataFingerprint& now) {
  if (!before.data) return;
  const DataFingerprint& then = *before.data;
  const bool endless = now.n_items == 0 || then.n_items == 0;
  if (now.items != then.items && endless && asked.data != before.experiment.data)
    refuse(run, concat("data.source is ", asked.data, " now and was ", before.experiment.data));
  if (now.n_items != then.n_items)
    refuse(run, concat(called("data.source", asked.data), " holds ", plural(now.n_items, "item"), " now and held ",
                       then.n_items));
  if (now.items != then.items)
    refuse(run, concat(called("data.source", asked.data), " contains different data: its fingerprint is ", now.items,
                       " now and was ", then.items));
  const std::string held_out = called("data.validation", asked.validation);
  if (now.n_held_out != then.n_held_out)
    refuse(run,
           concat(held_out, " gives ", plural(now.n_held_out, "held-out item"), " now and gave ", then.n_held_out));
  if (now.held_out != then.held_out)
    refuse(run, concat(held_out, " gives other held-out items: their fingerprint is ", now.held_out, " now and was ",
                       then.held_out));
}

}  // namespace segre
