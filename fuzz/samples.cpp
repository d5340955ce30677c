#include "fuzz/samples.h"

#include <zlib.h>

#include <map>

#include "segre/io/files.h"
#include "tests/support/archives.h"

namespace segre::fuzz {

namespace {

uint32_t number_at(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

}  // namespace

std::string sealed(std::string png) {
  constexpr size_t kSignature = 8;
  for (size_t at = kSignature; at + 12 <= png.size();) {
    const size_t length = number_at(png, at);
    if (length > png.size() - at - 12) break;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(png.data() + at + 4), static_cast<uInt>(length + 4));
    for (size_t k = 0; k < 4; ++k) png[at + 8 + length + k] = static_cast<char>(sum >> (24 - 8 * k) & 0xff);
    at += 12 + length;
  }
  return png;
}

std::string sample_csv() { return "a,b,c\n1,x,0\n2,\"y, z\",1\n1,NA,0\n3,x,1\n"; }
std::string sample_joint() { return "a,b,p\nx,1,0.5\ny,0,0.25\nx,0,0.25\n"; }
std::string sample_npy() { return test::npy_bytes("'|u1'", "(2, 2, 3)", std::string("\0\1\2\1\0\1\2\2\0\1\1\0", 12)); }
std::string sample_idx() { return test::idx_images(2, 2, 2, std::string("\0\377\200\1\377\377\0\0", 8)); }
std::string sample_png() { return test::grey_png({0, 1, 2, 1, 0, 255}, 2, 3); }

std::string sample_zip() {
  Folder folder;
  const auto path = folder.put("sample.zip", "");
  test::write_zip(path, {{"set/one.png", sample_png()}, {"set/two.png", test::grey_png({0, 1, 1, 0}, 2, 2, 1)}});
  return read_file(path);
}

std::string sample_target(const std::string& kind, Folder& folder) {
  static std::map<std::string, std::string> targets;
  if (const auto at = targets.find(kind); at != targets.end()) return at->second;
  std::string target;
  if (kind == "csv") target = folder.put("a.csv", sample_csv());
  if (kind == "joint") target = folder.put("joint.csv", sample_joint());
  if (kind == "npy") target = folder.put("a.npy", sample_npy());
  if (kind == "omniglot") target = folder.put("a.zip", sample_zip());
  if (kind == "idx") {
    target = folder.put("images-idx3", sample_idx());
    folder.put("labels-idx1", test::idx_labels("\1\2"));
  }
  if (!target.empty()) targets[kind] = target;
  return target;
}

}  // namespace segre::fuzz
