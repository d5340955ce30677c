#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "segre/space/bins.h"

namespace segre {

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
  /// The column of the user's table that this variable is a piece of, together with the variables next to it that name
  /// the same column: a number as coarse interval and position within. Empty: the variable is a column of its own.
  std::string column{};
};

/// Names and colours (red, green, blue) of labels that all variables share, such as the classes of a label map.
struct LabelSet {
  std::vector<std::string> names;               ///< empty, or one per label
  std::vector<std::array<uint8_t, 3>> colours;  ///< empty, or one per label
};

/// How the variables of a part are arranged: as named columns, in a row, or on a grid of pixels.
enum class PartKind { columns, sequence, image };

/// What parts of a kind are called, in checkpoints and in messages.
struct PartWords {
  const char* name;       ///< "table", "sequence", "image"
  const char* article;    ///< "a" or "an"
  const char* variable;   ///< "column", "position", "pixel"
  const char* variables;  ///< the plural
};
const PartWords& words_of(PartKind kind);

/// Variables that belong together: the columns of a table, a text, an image. The variables of a sequence or an image
/// share one set of labels; every column has its own.
struct Part {
  PartKind kind = PartKind::columns;
  std::string name{};               ///< "image"; may be empty if the space has no other part
  std::vector<int64_t> shape{};     ///< {length} or {height, width}; {columns} is filled in
  int64_t n_labels = 0;             ///< of every variable of a sequence or image
  LabelSet labels{};                ///< their names and colours
  std::vector<Variable> columns{};  ///< the variables of a table
  int64_t first = 0;                ///< the position of its first variable in the space, filled in by Space::of_parts

  /// Number of variables.
  int64_t size() const;
  bool holds(int64_t variable) const { return variable >= first && variable < first + size(); }
  /// Of an image.
  int64_t height() const { return shape[0]; }
  int64_t width() const { return shape[1]; }
  /// Whether it is at least twice as wide as high, as street scenes are.
  bool is_wide() const { return width() >= 2 * height(); }
};

/// A column of the user's table: one variable or several next to each other.
struct Column {
  std::string name;
  int64_t first = 0;        ///< its first variable
  int64_t n_variables = 1;
};

}  // namespace segre
