#include "segre/ood/verdict.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/text.h"

namespace segre {
namespace {

// How the recommended score compares with a baseline.
enum class Standing { behind, level, about_equal, ahead };

double best_direction(const Roc& roc) { return std::max(roc.auroc, 1.0 - roc.auroc); }

// Whether a score is better than guessing, in either direction.
bool tells(const Roc& roc) { return roc.low > 0.5 || roc.high < 0.5; }

Standing standing(const Separation& recommended, const Separation& baseline) {
  const Estimate& lead = baseline.lead;
  if (lead.low > 0.0) {
    const bool worth = lead.value >= kLeadWorthAWord * (1.0 - best_direction(baseline.roc));
    return worth ? Standing::ahead : Standing::about_equal;
  }
  if (lead.high < 0.0 && tells(baseline.roc)) {
    const bool worth = -lead.value >= kLeadWorthAWord * (1.0 - recommended.roc.auroc);
    return worth ? Standing::behind : Standing::about_equal;
  }
  return Standing::level;
}

// The best baseline with a given standing; nullptr if there is none.
const Separation* best_of(const std::vector<Separation>& results, const Separation& recommended, Standing wanted) {
  const Separation* best = nullptr;
  for (const Separation& result : results) {
    if (result.family != OutsideScore::Family::baseline || standing(recommended, result) != wanted) continue;
    if (best == nullptr || best_direction(result.roc) > best_direction(best->roc)) best = &result;
  }
  return best;
}

// "0.0100 (95% interval 0.0040 to 0.0160)".
std::string interval_text(double value, double low, double high) {
  return concat(fixed(value, 4), " (95% interval ", fixed(low, 4), " to ", fixed(high, 4), ")");
}

std::string lead_text(const Separation& baseline) {
  return interval_text(baseline.lead.value, baseline.lead.low, baseline.lead.high);
}

// "'ink' 0.8000", "'ink' 0.0200 (0.9800 reversed)".
std::string named_auroc(const Separation& result) { return concat("'", result.name, "' ", auroc_text(result.roc)); }

const char* hindsight(const Separation& baseline) {
  return baseline.roc.auroc < 0.5 ? "; its direction is known only from the outside data" : "";
}

}  // namespace

std::string verdict(const std::vector<Separation>& results) {
  const auto is = [](OutsideScore::Family family) {
    return [=](const Separation& result) { return result.family == family; };
  };
  const auto found = std::find_if(results.begin(), results.end(), is(OutsideScore::Family::recommended));
  if (found == results.end() || std::none_of(results.begin(), results.end(), is(OutsideScore::Family::baseline)))
    fail("a verdict needs the recommended score and a baseline");
  const std::string ours = fixed(found->roc.auroc, 4);
  if (const auto* winner = best_of(results, *found, Standing::behind))
    return concat("A BASELINE WINS: ", named_auroc(*winner),
                  " needs no model and is better than the recommended score, ", ours, ", by ",
                  interval_text(-winner->lead.value, -winner->lead.high, -winner->lead.low), hindsight(*winner), ".");
  if (!(found->roc.low > 0.5))
    return concat("NOT SEPARATED: the recommended score has AUROC ",
                  interval_text(found->roc.auroc, found->roc.low, found->roc.high), ", and 0.5 is guessing.");
  if (const auto* rival = best_of(results, *found, Standing::level))
    return concat("NO DETECTABLE DIFFERENCE from a baseline in ", rival->n_inside, " inside and ", rival->n_outside,
                  " outside items: the recommended score has AUROC ", ours, ", ", named_auroc(*rival),
                  " needs no model; the lead is ", lead_text(*rival), hindsight(*rival), ".");
  if (const auto* equal = best_of(results, *found, Standing::about_equal))
    return concat("HARDLY ANY DIFFERENCE from a baseline: the recommended score has AUROC ", ours, ", ",
                  named_auroc(*equal), " needs no model; the lead, ", lead_text(*equal),
                  ", is less than a tenth of what the worse one gets wrong", hindsight(*equal), ".");
  const auto* best = best_of(results, *found, Standing::ahead);
  return concat("The recommended score (AUROC ", ours, ") beats every baseline; the best is ", named_auroc(*best),
                ", the lead over it ", lead_text(*best), ".");
}

}  // namespace segre
