#pragma once  // internal

namespace segre {

/// What becomes of columns of a model that a table lacks.
enum class Lacking {
  refuse,   ///< InputError
  unknown,  ///< their cells are kUnknown, with a note; InputError if the table lacks all of them
};

}  // namespace segre
