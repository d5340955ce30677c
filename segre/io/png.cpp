#include "segre/io/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "segre/core/error.h"
#include "segre/io/files.h"

// libpng reports errors by longjmp, which runs no destructors. Each function that calls setjmp therefore owns nothing:
// buffers belong to its caller, and libpng's message is kept in a Session until C++ exceptions are safe again.

namespace segre {
namespace {

// Deflate expands a byte to at most 1,032; a header that promises more is lying.
constexpr int64_t kMostInflation = 1032;

// State of reading or writing one PNG.
struct Session {
  const std::string* input = nullptr;
  size_t position = 0;
  std::string* output = nullptr;
  std::array<char, 160> message{};
};

void on_error(png_structp png, png_const_charp message) {
  auto* session = static_cast<Session*>(png_get_error_ptr(png));
  std::strncpy(session->message.data(), message, session->message.size() - 1);
  std::replace(session->message.begin(), session->message.end(), '\n', ' ');
  png_longjmp(png, 1);
}

// Warnings are about ancillary chunks, which carry no labels.
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, size_t count) {
  auto* session = static_cast<Session*>(png_get_io_ptr(png));
  if (count > session->input->size() - session->position) png_error(png, "the file ends too early");
  std::memcpy(out, session->input->data() + session->position, count);
  session->position += count;
}

void on_write(png_structp png, png_bytep bytes, size_t count) {
  auto* session = static_cast<Session*>(png_get_io_ptr(png));
  bool fits = true;
  try {
    session->output->append(reinterpret_cast<const char*>(bytes), count);
  } catch (const std::bad_alloc&) {
    fits = false;  // longjmp must not be called inside the handler
  }
  if (!fits) png_error(png, "out of memory");
}

void on_flush(png_structp) {}

// libpng's reader and its info, freed together.
struct Reader {
  Session session;
  png_structp png;
  png_infop info;

  explicit Reader(const std::string& bytes)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning)),
        info(png != nullptr ? png_create_info_struct(png) : nullptr) {
    if (info == nullptr) fail("libpng cannot be initialised");
    session.input = &bytes;
    png_set_read_fn(png, &session, on_read);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

struct Writer {
  Session session;
  png_structp png;
  png_infop info;

  explicit Writer(std::string& output)
      : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning)),
        info(png != nullptr ? png_create_info_struct(png) : nullptr) {
    if (info == nullptr) fail("libpng cannot be initialised");
    session.output = &output;
    png_set_write_fn(png, &session, on_write, on_flush);
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

bool read_header(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  return true;
}

// Unpacks numbers of fewer than 8 bits to one per byte, unscaled.
bool prepare_rows(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_packing(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

bool read_rows(png_structp png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

bool write_image(png_structp png, png_infop info, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_write_info(png, info);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

bool set_header(png_structp png, png_infop info, int64_t height, int64_t width, const std::vector<png_color>* palette) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8,
               palette != nullptr ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (palette != nullptr) png_set_PLTE(png, info, palette->data(), static_cast<int>(palette->size()));
  return true;
}

std::vector<png_bytep> row_pointers(png_bytep first, int64_t height, size_t stride) {
  std::vector<png_bytep> rows(static_cast<size_t>(height));
  for (size_t row = 0; row < rows.size(); ++row) rows[row] = first + row * stride;
  return rows;
}

PngImage image_of_header(const Reader& reader, const std::string& name) {
  PngImage image;
  image.height = png_get_image_height(reader.png, reader.info);
  image.width = png_get_image_width(reader.png, reader.info);
  image.bits = png_get_bit_depth(reader.png, reader.info);
  if (image.height > kMaxPngPixels / image.width)
    fail_input(name, ": an image of ", image.height, "x", image.width, " pixels, at most ", kMaxPngPixels, " are read");
  const int64_t rows_bytes = image.height * static_cast<int64_t>(png_get_rowbytes(reader.png, reader.info));
  if (rows_bytes / kMostInflation > static_cast<int64_t>(reader.session.input->size()))
    fail_input(name, ": the header promises ", image.height, "x", image.width, " pixels, which ",
               reader.session.input->size(), " bytes cannot hold");
  const auto type = png_get_color_type(reader.png, reader.info);
  image.kind = type == PNG_COLOR_TYPE_PALETTE       ? PngImage::Kind::palette
               : (type & PNG_COLOR_MASK_COLOR) != 0 ? PngImage::Kind::colour
                                                    : PngImage::Kind::grey;
  return image;
}

std::vector<Rgb> palette_of(const Reader& reader) {
  png_colorp colours = nullptr;
  int count = 0;
  png_get_PLTE(reader.png, reader.info, &colours, &count);
  std::vector<Rgb> palette;
  for (int k = 0; k < count; ++k) palette.push_back({colours[k].red, colours[k].green, colours[k].blue});
  return palette;
}

// One row of `width` numbers of one byte, or of two with the high byte first.
void widen(const png_byte* row, int64_t width, int bits, uint16_t* out) {
  for (int64_t k = 0; k < width; ++k)
    out[k] = bits == 16 ? static_cast<uint16_t>(row[2 * k] << 8 | row[2 * k + 1]) : row[k];
}

std::string encode(int64_t height, int64_t width, const std::vector<png_color>* palette, const uint8_t* first) {
  std::string bytes;
  Writer writer(bytes);
  // libpng's rows are not const, but it only reads them.
  const auto stride = static_cast<size_t>(width) * (palette != nullptr ? 1 : 3);
  auto rows = row_pointers(const_cast<png_bytep>(first), height, stride);
  if (!set_header(writer.png, writer.info, height, width, palette) ||
      !write_image(writer.png, writer.info, rows.data()))
    fail("a PNG of ", height, "x", width, " pixels cannot be encoded (", writer.session.message.data(), ")");
  return bytes;
}

void check_size(size_t n_values, int64_t height, int64_t width) {
  if (height < 1 || width < 1 || n_values != static_cast<size_t>(height * width))
    fail("a PNG of ", height, "x", width, " pixels cannot be encoded from ", n_values, " values");
}

}  // namespace

PngImage read_png(const std::filesystem::path& path) { return parse_png(read_file(path), path.string()); }

PngImage parse_png(const std::string& bytes, const std::string& name) {
  if (bytes.empty()) fail_input(name, ": is empty, a PNG image was expected");
  if (png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, std::min<size_t>(bytes.size(), 8)) != 0)
    fail_input(name, ": is not a PNG image (its first bytes belong to another format)");
  Reader reader(bytes);
  const auto damaged = [&] { fail_input(name, ": damaged PNG image (", reader.session.message.data(), ")"); };
  if (!read_header(reader.png, reader.info)) damaged();
  PngImage image = image_of_header(reader, name);
  if (image.kind == PngImage::Kind::colour) return image;
  if (image.kind == PngImage::Kind::palette) image.palette = palette_of(reader);
  if (!prepare_rows(reader.png, reader.info)) damaged();
  const size_t stride = png_get_rowbytes(reader.png, reader.info);
  std::vector<png_byte> packed(stride * static_cast<size_t>(image.height));
  auto rows = row_pointers(packed.data(), image.height, stride);
  if (!read_rows(reader.png, rows.data())) damaged();
  image.values.resize(static_cast<size_t>(image.height * image.width));
  for (int64_t row = 0; row < image.height; ++row)
    widen(rows[static_cast<size_t>(row)], image.width, image.bits, image.values.data() + row * image.width);
  return image;
}

std::string encode_png_rgb(const std::vector<Rgb>& pixels, int64_t height, int64_t width) {
  check_size(pixels.size(), height, width);
  return encode(height, width, nullptr, pixels.front().data());
}

std::string encode_png_palette(const std::vector<uint8_t>& values, int64_t height, int64_t width,
                               const std::vector<Rgb>& palette) {
  check_size(values.size(), height, width);
  const uint8_t largest = *std::max_element(values.begin(), values.end());
  if (palette.size() > PNG_MAX_PALETTE_LENGTH || largest >= palette.size())
    fail("label ", int{largest}, " cannot be shown in a palette of ", palette.size(), " colours");
  std::vector<png_color> colours;
  for (const Rgb& colour : palette) colours.push_back({colour[0], colour[1], colour[2]});
  return encode(height, width, &colours, values.data());
}

}  // namespace segre
