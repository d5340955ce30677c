#pragma once  // internal

#include <string>
#include <string_view>

namespace segre {

/// The likely delimiters of a file, detected from its beginning. A comma if the first row has one. Otherwise those of
/// semicolon, tab and pipe that the first row has and the following rows have equally often: a single one is the
/// answer; if there are several, the user must choose. The user must also choose between the comma and those that only
/// some of the following rows have, or not equally often: the file may be damaged or have one column. If no other row
/// has them, the file has one column and the answer is the comma.
std::string likely_delimiters(std::string_view start, bool is_whole_file);

/// The name of a delimiter in options: "comma", "semicolon", "tab", "space" or "pipe".
std::string delimiter_name(char delimiter);

}  // namespace segre
