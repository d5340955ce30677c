#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "segre/core/torch.h"
#include "segre/space/bins.h"

namespace segre {

/// How the variables are arranged: in a row, on a grid of pixels, or as the named columns of a table.
enum class Layout { sequence, image, table };

/// Maximum number of labels of a variable.
inline constexpr int64_t kMaxLabels = 65'536;

/// Maximum number of coordinates, 2^32: one such item fills 16 GB, and byte counts stay far from overflow.
inline constexpr int64_t kMaxCoordinates = int64_t{1} << 32;

/// A categorical variable: its name and the names of its labels, if any.
struct Variable {
  std::string name;                      ///< empty: named by position
  int64_t n_labels = 0;                  ///< c_i, 1 to kMaxLabels
  std::vector<std::string> label_names;  ///< empty, or n_labels names
  /// The intervals of numbers or dates that the labels represent, if they do: all labels, or all but a last one for
  /// missing values.
  std::optional<Bins> bins{};
  /// How the table writes missing values, if their label is the last one: "NA", "?", or nothing; unset: as the name of
  /// that label.
  std::optional<std::string> missing_text{};
};

/// Names and colours (red, green, blue) of labels that all variables share, such as the classes of a label map.
struct LabelSet {
  std::vector<std::string> names;               ///< empty, or one per label
  std::vector<std::array<uint8_t, 3>> colours;  ///< empty, or one per label
};

/// All variables with the same number of labels, so that one dense operation handles them together.
struct Block {
  int64_t n_labels;           ///< c
  int64_t n_variables;        ///< how many variables have c labels
  torch::Tensor coordinates;  ///< [n_variables * c] int64: their positions among the n_coordinates()
};

/// The variables: n of them, the i-th with its own c_i labels.
///
/// The coordinates of a point (W, v, logits, ...) are one axis of length S = sum_i c_i, always the last one:
/// the labels of variable 0, then those of variable 1, and so on. Nothing is padded, so different c_i cost
/// nothing, and for an image with one c this axis is [height, width, c] without a copy.
///
///   labels   [B, n] int64      one label in [0, c_i) per variable
///   points   [B, S] float      one value per variable and label
///
/// A Space is an immutable value; copies share their contents. Threads may share it.
class Space {
 public:
  /// n = product of `shape` variables with c labels each: {length}, or {height, width}. `labels` names and colours the
  /// c labels of all of them.
  static Space uniform(Layout layout, std::vector<int64_t> shape, int64_t n_labels, LabelSet labels = {});
  /// One variable per column, each with its own labels.
  static Space table(std::vector<Variable> variables);

  Layout layout() const;
  /// {length}, {height, width} or {columns}.
  const std::vector<int64_t>& shape() const;
  /// n.
  int64_t n_variables() const;
  /// S = sum_i c_i: length of the last axis of points.
  int64_t n_coordinates() const;
  /// sum_i (c_i - 1): dimension of the tangent space T0.
  int64_t n_dims() const;
  /// c_i.
  int64_t n_labels(int64_t variable) const;
  /// Largest c_i.
  int64_t max_labels() const;
  /// Where the labels of a variable start on the coordinate axis.
  int64_t offset(int64_t variable) const;
  /// Whether every variable has the same number of labels.
  bool is_uniform() const;
  /// The name given, or "x" and the position, counted from 1.
  std::string variable_name(int64_t variable) const;
  /// The name given, or the label's number.
  std::string label_name(int64_t variable, int64_t label) const;
  /// The intervals that a variable's labels represent; nullptr if they are plain labels.
  const Bins* bins(int64_t variable) const;
  /// How the data write a variable's missing values; unset if they have none, or if it is not known.
  const std::optional<std::string>& missing_text(int64_t variable) const;
  /// Whether both are copies of one space.
  bool shares_contents_of(const Space& other) const { return contents_ == other.contents_; }
  /// Names and colours that all variables share; empty for a table.
  const LabelSet& label_set() const;
  /// Number of labelings prod_i c_i, or `limit` + 1 if it exceeds the limit.
  int64_t n_labelings(int64_t limit) const;

  /// The variables grouped by c, ascending; one block when is_uniform().
  const std::vector<Block>& blocks(torch::Device device) const;
  /// [S] int64: for each coordinate, its position in the blocks laid end to end. Mixed spaces only.
  const torch::Tensor& coordinates_from_blocks(torch::Device device) const;
  /// [n] int64: the same for variables.
  const torch::Tensor& variables_from_blocks(torch::Device device) const;
  /// [S] int64: the variable that each coordinate belongs to.
  const torch::Tensor& variable_of_coordinate(torch::Device device) const;
  /// [n] int64: offset(i).
  const torch::Tensor& starts(torch::Device device) const;
  /// [n + 1] int64 on the CPU: offset(i), and n_coordinates() last.
  const torch::Tensor& offsets() const;

  /// Layout, shape, label counts and names, as stored in checkpoints.
  nlohmann::json to_json() const;
  static Space from_json(const nlohmann::json& json);

  /// A one-line description: "table of 4 variables with 2 to 7 labels".
  std::string describe() const;

 private:
  struct Contents;
  explicit Space(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

/// All labelings of a small space, [N, n] int64: the last variable varies fastest. InputError above `limit`.
torch::Tensor enumerate_labelings(const Space& space, int64_t limit = 1 << 22);

/// Stands for a label in data that is not known.
inline constexpr int64_t kUnknown = -1;

/// Whether labels may be kUnknown.
enum class Unknowns { refuse, allow };

/// Throws InputError unless labels is [B, n] int64 with each value in [0, c_i), or kUnknown if allowed, naming the
/// first offender.
void check_labels(const Space& space, const torch::Tensor& labels, Unknowns unknowns = Unknowns::refuse);

}  // namespace segre
