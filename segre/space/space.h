#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "segre/core/torch.h"
#include "segre/space/part.h"

namespace segre {

/// Maximum number of labels of a variable.
inline constexpr int64_t kMaxLabels = 65'536;

/// Maximum number of coordinates, 2^32: one such item fills 16 GB, and byte counts stay far from overflow.
inline constexpr int64_t kMaxCoordinates = int64_t{1} << 32;

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
/// The variables are those of its parts, end to end: most spaces are one table, sequence or image; an image and its class
/// are two parts.
///
/// A Space is an immutable value; copies share their contents and may be used by several threads.
class Space {
 public:
  /// One variable per column, each with its own labels.
  static Space table(std::vector<Variable> columns);
  /// Variables in a row, with one set of labels.
  static Space sequence(int64_t length, int64_t n_labels, LabelSet labels = {});
  /// One variable per pixel, with one set of labels.
  static Space image(int64_t height, int64_t width, int64_t n_labels, LabelSet labels = {});
  /// Any parts, in this order. Several parts need different names.
  static Space of_parts(std::vector<Part> parts);

  /// At least one.
  const std::vector<Part>& parts() const;
  /// Whether the space is a single part of this kind.
  bool is(PartKind kind) const { return parts().size() == 1 && parts().front().kind == kind; }
  /// The first image; nullptr if there is none.
  const Part* image_part() const;
  /// The part that a variable belongs to.
  const Part& part_of(int64_t variable) const;
  /// A space of this part alone, and its share of labels [B, n] -> [B, part.size()].
  Space alone(const Part& part) const;
  torch::Tensor labels_of(const Part& part, const torch::Tensor& labels) const;
  /// The columns of all tables, as the user knows them.
  std::vector<Column> columns() const;
  /// What has a name and a cell for the user: the columns of tables, and the variables of other parts.
  std::vector<Column> columns_and_variables() const;
  /// The one of these that a variable belongs to.
  Column column_of(int64_t variable) const;
  /// The shape of an item as an array: {columns}, {length} or {height, width}; {n} if there are several parts.
  const std::vector<int64_t>& item_shape() const;
  /// Whether both have parts of the same kinds, names and shapes, whatever their labels.
  bool is_arranged_like(const Space& other) const;
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
  /// The name given, or "x" and the position, counted from 1; with the name of the part before it, "image.x1", in a
  /// sequence or image that is not the only part.
  std::string variable_name(int64_t variable) const;
  /// The name given, or the label's number.
  std::string label_name(int64_t variable, int64_t label) const;
  /// The intervals that a variable's labels represent; nullptr if they are plain labels.
  const Bins* bins(int64_t variable) const;
  /// How the data write a variable's missing values; unset if they have none, or if it is not known.
  const std::optional<std::string>& missing_text(int64_t variable) const;
  /// Whether both are copies of one space.
  bool shares_contents_of(const Space& other) const { return contents_ == other.contents_; }
  /// Names and colours that all variables share; empty for a table, and for several parts.
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

  /// Kinds of parts, shapes, label counts and names, as stored in checkpoints.
  nlohmann::json to_json() const;
  static Space from_json(const nlohmann::json& json);

  /// A one-line description: "table of 4 variables with 2 to 7 labels".
  std::string describe() const;

 private:
  struct Contents;
  const Variable* described(int64_t variable) const;
  nlohmann::json part_json(const Part& part) const;
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
