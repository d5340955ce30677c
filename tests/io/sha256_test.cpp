#include "segre/io/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace segre::sha256_test {
namespace {

std::string sum_of(const std::string& text, Sha256::Way way = Sha256::Way::fastest) {
  Sha256 sum(way);
  sum.add(text.data(), text.size());
  return sum.hex();
}

// The examples of FIPS 180-4.
TEST(Sha256, TheStandardsExamplesComeOut) {
  for (const auto way : {Sha256::Way::fastest, Sha256::Way::plain}) {
    EXPECT_EQ(sum_of("", way), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sum_of("abc", way), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", way),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sum_of(std::string(1'000'000, 'a'), way),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(Sha256, TheProcessorsInstructionsGiveWhatPlainArithmeticGives) {
  std::string text;
  for (int k = 0; k < 300; ++k) {
    EXPECT_EQ(sum_of(text), sum_of(text, Sha256::Way::plain)) << k << " bytes";
    text += static_cast<char>(37 * k + k / 7);
  }
}

TEST(Sha256, PiecesGiveWhatTheWholeGives) {
  std::string text;
  for (int k = 0; k < 1000; ++k) text += static_cast<char>('a' + k % 23);
  for (size_t piece = 1; piece < 200; piece += 7) {
    Sha256 sum;
    for (size_t at = 0; at < text.size(); at += piece) sum.add(text.data() + at, std::min(piece, text.size() - at));
    EXPECT_EQ(sum.hex(), sum_of(text)) << piece;
  }
}

}  // namespace
}  // namespace segre::sha256_test
