#include "segre/ood/tables.h"

#include <iomanip>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/io/csv.h"

namespace segre {
namespace {

void write_rows(std::ostream& out, const char* set, const ScoredItems& items) {
  for (int64_t k = 0; k < items.nats.numel(); ++k) {
    out << set << ',' << items.numbers[k].item<int64_t>() << ',' << items.std_error[k].item<double>();
    for (const Score& score : items.scores) out << ',' << score.values[k].item<double>();
    out << '\n';
  }
}

}  // namespace

void write_scores_csv(std::ostream& out, const ScoredItems& inside, const ScoredItems& outside) {
  out << "set,item,std_error";
  for (const Score& score : inside.scores) out << ',' << score.key;
  out << '\n' << std::setprecision(kScoreDigits);
  write_rows(out, "inside", inside);
  write_rows(out, "outside", outside);
}

void write_auroc_csv(std::ostream& out, const std::vector<ScoreResult>& results) {
  out << "score,family,auroc,low,high,auroc_reversed,fpr95,fpr95_low,fpr95_high,lead,lead_low,lead_high,name\n"
      << std::setprecision(kScoreDigits);
  for (const ScoreResult& result : results) {
    const Roc& roc = result.roc;
    out << result.key << ',' << family_name(result.family);
    for (const double value : {roc.auroc, roc.low, roc.high, 1.0 - roc.auroc, roc.fpr95, roc.fpr95_low, roc.fpr95_high,
                               result.lead.value, result.lead.low, result.lead.high})
      out << ',' << value;
    out << ',' << csv_field(result.name) << '\n';
  }
}

TextTable auroc_table(const std::vector<ScoreResult>& results) {
  TextTable table{{"score", "family", "AUROC", "95% interval", "FPR at 95% recall"}, {}};
  for (const ScoreResult& result : results)
    table.rows.push_back({result.name, family_name(result.family), auroc_text(result.roc),
                          concat(fixed(result.roc.low, 4), " to ", fixed(result.roc.high, 4)),
                          concat(fixed(result.roc.fpr95, 3), " (", fixed(result.roc.fpr95_low, 3), " to ",
                                 fixed(result.roc.fpr95_high, 3), ")")});
  return table;
}

}  // namespace segre
