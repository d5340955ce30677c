#include "segre/core/text.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace segre {
namespace {

// Characters of a name that are compared: longer names could take minutes, and their beginnings suffice.
constexpr size_t kLongestName = 200;

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> pieces;
  size_t start = 0;
  for (size_t at = 0; (at = text.find(separator, start)) != std::string::npos; start = at + 1)
    pieces.push_back(text.substr(start, at - start));
  pieces.push_back(text.substr(start));
  return pieces;
}

std::string join(const std::vector<std::string>& pieces, const std::string& separator) {
  std::string text;
  for (const std::string& piece : pieces) {
    if (&piece != pieces.data()) text += separator;
    text += piece;
  }
  return text;
}

std::string fixed(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

std::string plain_digits(double value, int digits) {
  if (value == 0.0 || !std::isfinite(value)) return fixed(value, 0);
  // Rounds through text, which gets cases such as 9.996 right.
  std::ostringstream out;
  out << std::scientific << std::setprecision(digits - 1) << value;
  const double rounded = std::stod(out.str());
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(rounded)) + 1e-9));
  return fixed(rounded, std::max(0, digits - 1 - exponent));
}

std::string wrap(const std::string& text, size_t width) {
  std::string out;
  size_t column = 0;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    const bool first = out.empty();
    const bool fits = column + 1 + word.size() <= width;
    if (!first) out += fits ? ' ' : '\n';
    column = first || !fits ? word.size() : column + 1 + word.size();
    out += word;
  }
  return out;
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string start = word.substr(0, kLongestName);
  const std::string* best = nullptr;
  size_t least = 0;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(start, candidate.substr(0, kLongestName));
    if (best != nullptr && distance >= least) continue;
    best = &candidate;
    least = distance;
  }
  return *best;
}

}  // namespace segre
