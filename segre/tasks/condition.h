#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "segre/space/space.h"
#include "segre/space/value_set.h"

namespace segre {

/// What a user allows a column to be: a label, number or date by its text, or a range of numbers or dates.
struct Stated {
  struct Range {
    std::string low{}, high{};  ///< empty: no end
    bool has_low = true;        ///< whether the end itself belongs to it
    bool has_high = true;
  };
  std::string text{};
  std::optional<Range> range{};
};

/// What a user states about a column: that it is one of these, or none of them.
struct Statement {
  std::string column;
  std::vector<Stated> any_of;
  bool is_not = false;
  std::string text{};  ///< "age=30..60", for messages
};

/// Which labels of a column a condition leaves, beyond a single one.
struct ColumnLimit {
  Column column;
  /// The share of each label of the first variable that satisfies it, 0 to 1; 1 if the second variable decides.
  std::vector<double> shares;
  /// Of labels that several levels share, some of which satisfy it: the share of each label of the second variable.
  std::map<int64_t, std::vector<double>> within{};
};

/// What is known about all rows of a request: labels, sets of labels, numbers, dates and ranges of them.
class Condition {
 public:
  /// Nothing is known.
  Condition() = default;
  /// These labels [1, n] int64 are known, others are kUnknown.
  explicit Condition(torch::Tensor labels, std::string text = "");
  /// InputError, starting with `option`, for statements that a model cannot understand, or that leave no value. Notes
  /// numbers outside the range of training.
  Condition(const Space& space, const std::vector<Statement>& statements, const std::string& option);

  bool empty() const { return !labels_.defined(); }
  /// Labels that are known for certain, [1, n] int64, kUnknown for others; undefined if the condition is empty.
  const torch::Tensor& labels() const { return labels_; }
  /// What is known of other columns.
  const std::vector<ColumnLimit>& limits() const { return limits_; }
  /// What is known of values besides their labels; nullptr if nothing is.
  const std::shared_ptr<const GivenValues>& values() const { return values_; }
  /// "age=30..60,Month=Nov|Dec"; the name of a file if the labels come from one.
  const std::string& text() const { return text_; }
  /// Whether something is known about a variable.
  bool concerns(int64_t variable) const;
  /// A text that differs between different conditions.
  std::string key() const;

 private:
  void know(const Column& column, Bins::Place place);
  void know_number(const Bins& bins, const Column& column, double value, GivenValues& values);
  void add(const Space& space, const Column& column, const std::vector<Statement>& statements,
           const std::string& option, GivenValues& values);

  torch::Tensor labels_{};
  std::vector<ColumnLimit> limits_{};
  std::shared_ptr<const GivenValues> values_{};
  std::string text_{};
};

/// A condition as typed, a list of statements separated by commas (within names and labels they are %2C, or the name or
/// the label is in double quotes):
///
///   sky=rain    age=37    Month=Nov|Dec    income!=<=50K     a label or number, one of several, none of these
///   age=30..60  age=30..  age>60  age<=30                    ranges of numbers and dates, with their ends for .. <= >=
///
/// or labels from the first item of a source (a SOURCE, FILE.csv or FILE.npy), whose missing values are not known.
/// Several statements about a column all hold. InputError as above.
Condition parse_condition(const Space& space, const std::string& text, const std::string& option);

/// How likely a condition is when nothing else is known.
struct ConditionReport {
  std::string text{};  ///< the condition
  /// Nats; NaN if it states so many labels that the chain rule over them would take long. Of numbers and dates that are
  /// stated exactly, a density in their units.
  double log_p = 0.0;
  bool is_density = false;
  double expected_rows = 0.0;  ///< of training, that are like it: in the same levels; NaN if not known
};

/// What a command takes from every row of its data, and what holds for all rows.
struct GivenTerms {
  torch::Tensor variables{};  ///< [n] bool: known as the data have them; undefined: none is named
  Condition condition{};
};

/// Columns as parse_variables reads them, statements, or both: {"ward,age=30..60"} or {"ward", "age=30..60"}.
GivenTerms parse_given(const Space& space, const std::vector<std::string>& words, const std::string& option);

}  // namespace segre
