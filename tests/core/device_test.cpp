#include "segre/core/device.h"

#include "segre/core/error.h"
#include "tests/support/support.h"

namespace segre::device_test {
namespace {

using test::input_error;

TEST(ParseDevice, KnowsTheProcessorAndNothingElse) {
  EXPECT_EQ(input_error([&] { parse_device("tpu", "--device"); }), "--device tpu: expected cpu, cuda or cuda:N");
  EXPECT_TRUE(parse_device("cpu").is_cpu());
  for (const char* name :
       {"tpu", "", "CPU", "cpu:0", "cudax", "cuda:abc", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999"})
    EXPECT_EQ(input_error([&] { parse_device(name); }), concat("device ", name, ": expected cpu, cuda or cuda:N"));
}

#ifndef SEGRE_CUDA
TEST(ParseDevice, ABuildWithoutCudaSaysHowToGetOne) {
  for (const char* name : {"cuda", "cuda:1"})
    EXPECT_EQ(input_error([&] { parse_device(name); }),
              concat("device ", name, ": this build has no CUDA; rebuild with 'make build CUDA=1'"));
}
#endif

}  // namespace
}  // namespace segre::device_test
