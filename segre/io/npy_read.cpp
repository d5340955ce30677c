#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "segre/core/error.h"
#include "segre/io/gzip.h"
#include "segre/io/mapped_file.h"
#include "segre/io/npy.h"

static_assert(std::endian::native == std::endian::little, "reading NPY files requires a little-endian machine");

namespace segre {
namespace {

constexpr size_t kLongestHeader = size_t{1} << 16;
constexpr size_t kMostAxes = 32;  // numpy's limit

struct Header {
  std::string type;  // "u2": kind and bytes, without the byte order
  bool is_big_endian = false;
  bool is_fortran = false;
  std::vector<int64_t> shape;
  int64_t count = 1;
  int64_t size = 0;  // of the header itself: where the values start

  size_t item_bytes() const { return static_cast<size_t>(type[1] - '0'); }
  size_t n_bytes() const { return static_cast<size_t>(count) * item_bytes(); }
};

std::string read_exactly(ByteReader& file, size_t count) {
  std::string bytes(count, '\0');
  if (file.read(bytes.data(), count) != count) fail_input(file.name(), ": ends inside the NPY header");
  return bytes;
}

// The text of the header: a Python dictionary with three keys. `size` becomes that of the whole header.
std::string read_header_text(ByteReader& file, int64_t& size) {
  std::string start(8, '\0');
  start.resize(file.read(start.data(), start.size()));
  if (!start.starts_with("\x93NUMPY"))
    fail_input(file.name(), ": does not start with NPY's magic bytes, is it a .npy file?");
  if (start.size() < 8) fail_input(file.name(), ": ends inside the NPY header");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) fail_input(file.name(), ": NPY version ", version, ", expected 1, 2 or 3");
  const std::string length = read_exactly(file, version == 1 ? 2 : 4);
  size_t bytes = 0;
  for (size_t i = length.size(); i-- > 0;) bytes = bytes << 8 | static_cast<unsigned char>(length[i]);
  if (bytes > kLongestHeader)
    fail_input(file.name(), ": an NPY header of ", bytes, " bytes, at most ", kLongestHeader, " were expected");
  size = static_cast<int64_t>(start.size() + length.size() + bytes);
  return read_exactly(file, bytes);
}

// The value of 'key' in the dictionary, up to the comma or brace that ends it.
std::string value_of(const std::string& file, const std::string& header, const std::string& key) {
  size_t at = header.find("'" + key + "'");
  if (at != std::string::npos) at = header.find(':', at);
  if (at != std::string::npos) at = header.find_first_not_of(' ', at + 1);
  if (at == std::string::npos) fail_input(file, ": the NPY header has no '", key, "'");
  const char* const closing = header[at] == '(' ? ")" : header[at] == '\'' ? "'" : header[at] == '[' ? "]" : ",}";
  const size_t end = header.find_first_of(closing, at + 1);
  if (end == std::string::npos) fail_input(file, ": the NPY header ends inside '", key, "'");
  const bool bracketed = std::string("(['").find(header[at]) != std::string::npos;
  return header.substr(at, end - at + (bracketed ? 1 : 0));
}

// The kind of values that a reader accepts.
enum class Values { integers, numbers };

void parse_type(const std::string& file, std::string text, Header& header, Values wanted) {
  const std::string as_found = text;
  const bool quoted = text.size() == 5 && text.front() == '\'';
  if (quoted) text = text.substr(1, 3);
  static const std::vector<std::string> kIntegers{"b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"};
  static const std::vector<std::string> kNumbers{"f4", "f8"};
  const auto& types = wanted == Values::integers ? kIntegers : kNumbers;
  const bool known = quoted && std::string("<>|=").find(text[0]) != std::string::npos &&
                     std::find(types.begin(), types.end(), text.substr(1)) != types.end();
  if (!known && wanted == Values::numbers)
    fail_input(file, ": values of type ", as_found, ", floating-point numbers (float32 or float64) were expected");
  if (!known) {
    const bool is_float = quoted && (text[1] == 'f' || text[1] == 'c');
    fail_input(file, ": values of type ", as_found, is_float ? " (floating point)" : "",
               ", integers or booleans were expected", is_float ? ": convert them with astype" : "");
  }
  header.is_big_endian = text[0] == '>';
  header.type = text.substr(1);
}

void parse_shape(const std::string& file, const std::string& text, Header& header) {
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  const auto skip = [&] {
    while (at < end && (*at == ' ' || *at == ',')) ++at;
  };
  bool good = text.front() == '(';
  int64_t product = 1;  // of all extents but zeros: the strides of an empty array are products too
  for (skip(); good && at < end; skip()) {
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    at = next;
    const int64_t factor = std::max<int64_t>(extent, 1);
    good = error == std::errc() && extent >= 0 && header.shape.size() < kMostAxes &&
           product <= std::numeric_limits<int64_t>::max() / 8 / factor;
    if (!good) break;
    product *= factor;
    header.shape.push_back(extent);
    header.count *= extent;
  }
  if (!good) fail_input(file, ": the NPY header's shape is ", text, ", a tuple of sizes was expected");
}

Header read_header(ByteReader& file, Values wanted) {
  Header header;
  const std::string text = read_header_text(file, header.size);
  parse_type(file.name(), value_of(file.name(), text, "descr"), header, wanted);
  const std::string order = value_of(file.name(), text, "fortran_order");
  if (order != "True" && order != "False")
    fail_input(file.name(), ": the NPY header's fortran_order is ", order, ", True or False was expected");
  header.is_fortran = order == "True";
  parse_shape(file.name(), value_of(file.name(), text, "shape"), header);
  return header;
}

void swap_bytes(std::string& body, size_t width) {
  for (size_t at = 0; at + width <= body.size(); at += width)
    std::reverse(body.begin() + at, body.begin() + at + width);
}

// Converts unsigned numbers of a type that tensors do not have to the next wider one.
template <class From, class To>
torch::Tensor widened(const std::string& body, torch::ScalarType type) {
  const auto count = static_cast<int64_t>(body.size() / sizeof(From));
  auto values = torch::empty({count}, type);
  auto* to = values.data_ptr<To>();
  for (int64_t k = 0; k < count; ++k) {
    From value{};
    std::memcpy(&value, body.data() + k * sizeof(From), sizeof(From));
    to[k] = static_cast<To>(value);
  }
  return values;
}

// A tensor that takes over the body's memory.
torch::Tensor adopt(std::string body, int64_t count, torch::ScalarType type) {
  auto owner = std::make_shared<std::string>(std::move(body));
  return torch::from_blob(
      owner->data(), {count}, [owner](void*) {}, torch::TensorOptions(type));
}

torch::Tensor to_tensor(const Header& header, std::string body, const std::string& file) {
  if (header.type == "f4") return adopt(std::move(body), header.count, torch::kFloat32);
  if (header.type == "f8") return adopt(std::move(body), header.count, torch::kFloat64);
  if (header.type == "u2") return widened<uint16_t, int32_t>(body, torch::kInt32);
  if (header.type == "u4") return widened<uint32_t, int64_t>(body, torch::kInt64);
  if (header.type == "i1") return adopt(std::move(body), header.count, torch::kInt8);
  if (header.type == "i2") return adopt(std::move(body), header.count, torch::kInt16);
  if (header.type == "i4") return adopt(std::move(body), header.count, torch::kInt32);
  if (header.type == "i8") return adopt(std::move(body), header.count, torch::kInt64);
  if (header.type != "u8") return adopt(std::move(body), header.count, torch::kUInt8);
  auto values = adopt(std::move(body), header.count, torch::kInt64);
  if ((values < 0).any().item<bool>())
    fail_input(file, ": holds a value of 2^63 or more, smaller integers were expected");
  return values;
}

// The type of tensors that store values as the file does; nullopt if there is none.
std::optional<torch::ScalarType> same_type(const Header& header) {
  if (header.type == "u1" || header.type == "b1") return torch::kUInt8;
  if (header.type == "i1") return torch::kInt8;
  if (header.type == "i2") return torch::kInt16;
  if (header.type == "i4") return torch::kInt32;
  if (header.type == "i8") return torch::kInt64;
  return std::nullopt;
}

void check_size(const ByteReader& file, const Header& header, size_t found) {
  if (found != header.n_bytes())
    fail_input(file.name(), ": has ", found, " bytes of data, its header promises ", header.n_bytes());
}

// The array as a view of the file; undefined if its layout or the file system does not allow that.
torch::Tensor map(const ByteReader& file, const Header& header) {
  const auto type = same_type(header);
  const bool is_aligned = header.size % static_cast<int64_t>(header.item_bytes()) == 0;
  if (!file.is_plain() || header.is_big_endian || header.is_fortran || !type || !is_aligned) return {};
  try {
    auto mapped = std::make_shared<const MappedFile>(file.name());
    check_size(file, header, static_cast<size_t>(std::max<int64_t>(0, mapped->size() - header.size)));
    return MappedFile::view(std::move(mapped), header.size, header.shape, *type);
  } catch (const FileError&) {  // a pipe, say
    return {};
  }
}

torch::Tensor read(const std::filesystem::path& path, Values wanted,
                   int64_t least_mapped = std::numeric_limits<int64_t>::max()) {
  ByteReader file(path);
  const Header header = read_header(file, wanted);
  if (header.count > 0 && static_cast<int64_t>(header.n_bytes()) >= least_mapped)
    if (auto mapped = map(file, header); mapped.defined()) return mapped;
  std::string body = file.read_rest();
  check_size(file, header, body.size());
  if (header.is_big_endian) swap_bytes(body, header.item_bytes());
  auto values = to_tensor(header, std::move(body), file.name());
  if (!header.is_fortran) return values.view(header.shape);
  std::vector<int64_t> axes;
  for (auto axis = static_cast<int64_t>(header.shape.size()) - 1; axis >= 0; --axis) axes.push_back(axis);
  const std::vector<int64_t> reversed(header.shape.rbegin(), header.shape.rend());
  return values.view(reversed).permute(axes).contiguous();
}

}  // namespace

torch::Tensor read_npy(const std::filesystem::path& path) { return read(path, Values::integers); }

torch::Tensor map_npy(const std::filesystem::path& path, int64_t least_mapped) {
  return read(path, Values::integers, least_mapped);
}

torch::Tensor read_npy_numbers(const std::filesystem::path& path) { return read(path, Values::numbers); }

}  // namespace segre
