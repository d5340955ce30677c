// Run directories that segre did not write.

#include "segre/runs/load_run.h"
#include "segre/runs/run_directory.h"
#include "tests/runs/tiny.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::hostile_run_test {
namespace {

namespace fs = std::filesystem;
using test::input_error;
using test::ScratchFolder;
using test::write_text;

// The message on loading a run with this description, without the file name.
std::string error_of(const std::string& json) {
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  run.create();
  run.write_config(test::tiny_experiment());
  run.save(1, {{"n", torch::zeros({1})}}, test::binary_space(2), test::tiny_experiment());
  const fs::path file = *run.latest() / "model.json";
  write_text(file, json);
  return test::after(file.string(), input_error([&] { load_run(run.path(), torch::kCPU); }));
}

TEST(HostileRun, ADescriptionOfAnyDepthIsReadWithoutFillingTheStack) {
  const std::string opened(200'000, '[');
  EXPECT_TRUE(error_of(opened).starts_with(": not valid JSON ("));
  EXPECT_TRUE(error_of(opened + std::string(200'000, ']')).starts_with(": does not describe a model ("));
}

TEST(HostileRun, NumbersThatAreNoneAreNamed) {
  EXPECT_TRUE(error_of("{\"format\": 1e400}").starts_with(": not valid JSON ("));
  EXPECT_EQ(error_of("{\"format\": 1e300}"), ": format is 1e+300, a whole number was expected");
  EXPECT_EQ(error_of("{\"format\": 1.0}"), ": format is 1.0, a whole number was expected");
}

}  // namespace
}  // namespace segre::hostile_run_test
