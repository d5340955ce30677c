#pragma once

#include <string>
#include <string_view>

namespace segre {

/// The characters that separate the fields of a delimited file, told by its beginning. The comma wherever the first row
/// has one. Otherwise each of semicolon, tab and pipe that the first row has and the next rows have just as often: one
/// is the answer, several are a question for the user. So are those that only some of the next rows have, or not as
/// often, and the comma: the file may be damaged or have one column. Where no other row has them, it has one column and
/// the answer is the comma.
std::string likely_delimiters(std::string_view start, bool is_whole_file);

/// What a delimiter is called in options: "comma", "semicolon", "tab", "space" or "pipe".
std::string delimiter_name(char delimiter);

}  // namespace segre
