#include "segre/ranks/launch.h"

#include <map>

#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::launch_test {
namespace {

using Variables = std::map<std::string, std::string>;
using test::contains;

Environment of(const Variables& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
}

std::string launch_error(const Variables& variables) {
  return test::input_error([&] { find_launch(of(variables)); });
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

const Variables kFour{{"RANK", "2"},         {"WORLD_SIZE", "4"},     {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"},
                      {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};

TEST(Launch, WithoutALauncherThereIsNone) {
  EXPECT_FALSE(find_launch(of({})));
  EXPECT_FALSE(find_launch(of({{"RANK", "1"}})));  // other programs have one, too
  EXPECT_FALSE(find_launch(of({{"WORLD_SIZE", "4"}, {"MASTER_PORT", "29500"}})));
}

TEST(Launch, TheUsualVariablesAreRead) {
  const auto launch = find_launch(of(kFour));
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->rank, 2);
  EXPECT_EQ(launch->size, 4);
  EXPECT_EQ(launch->local_rank, 0);
  EXPECT_EQ(launch->local_size, 2);
  EXPECT_EQ(launch->address, "n1");
  EXPECT_EQ(launch->port, 29500);
  EXPECT_FALSE(launch->agent_listens);
  EXPECT_EQ(launch->launcher, "environment");
}

TEST(Launch, WithoutALocalRankItIsTheRank) {
  auto variables = kFour;
  variables.erase("LOCAL_RANK");
  variables.erase("LOCAL_WORLD_SIZE");
  const auto launch = find_launch(of(variables));
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->local_rank, 2) << "ranks share no GPU";
  EXPECT_EQ(launch->local_size, 0) << "which nobody said";
}

TEST(Launch, TorchrunListensAndCountsItsAttempts) {
  const auto launch = find_launch(of(with(kFour, {{"TORCHELASTIC_RUN_ID", "none"},
                                                  {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                  {"TORCHELASTIC_RESTART_COUNT", "1"}})));
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "torchrun");
  EXPECT_TRUE(launch->agent_listens);
  EXPECT_EQ(launch->attempt, "1");
}

TEST(Launch, OneRankNeedsNoPlaceToMeet) {
  const auto launch = find_launch(of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->size, 1);
}

TEST(Launch, AMissingOrWrongVariableIsNamed) {
  EXPECT_EQ(launch_error({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n1"}}),
            "the environment variable MASTER_PORT is not set; a launcher sets it together with the others");
  EXPECT_TRUE(contains(launch_error({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), "MASTER_ADDR is not set"));
  EXPECT_EQ(launch_error(with(kFour, {{"RANK", "x"}})),
            "the environment variable RANK is 'x', a number from 0 to 3 was expected");
  EXPECT_EQ(launch_error(with(kFour, {{"RANK", "4"}})),
            "the environment variable RANK is '4', a number from 0 to 3 was expected");
  EXPECT_TRUE(contains(launch_error(with(kFour, {{"RANK", "-1"}})), "RANK is '-1'"));
  EXPECT_TRUE(contains(launch_error(with(kFour, {{"WORLD_SIZE", "0"}})), "WORLD_SIZE is '0'"));
  EXPECT_TRUE(contains(launch_error(with(kFour, {{"WORLD_SIZE", "4 "}})), "WORLD_SIZE is '4 '"));
  EXPECT_TRUE(contains(launch_error(with(kFour, {{"LOCAL_RANK", "first"}})), "LOCAL_RANK is 'first'"));
  EXPECT_TRUE(contains(launch_error(with(kFour, {{"MASTER_PORT", "65536"}})), "MASTER_PORT is '65536'"));
}

Variables step(const std::string& nodes) {
  return {{"SLURM_PROCID", "5"},          {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"},
          {"SLURM_STEP_NODELIST", nodes}, {"SLURM_JOB_ID", "77"},        {"SLURM_STEP_ID", "0"}};
}

TEST(Launch, SrunMeetsOnTheFirstNodeOfItsList) {
  const std::pair<const char*, const char*> lists[] = {{"node7", "node7"},
                                                       {"node[07-12,15],other3", "node07"},
                                                       {"gpu[3,5]", "gpu3"},
                                                       {"alpha,beta", "alpha"},
                                                       {"login1,node[1-2]", "login1"}};
  for (const auto& [list, first] : lists) {
    const auto launch = find_launch(of(step(list)));
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->address, first) << list;
    EXPECT_EQ(launch->rank, 5);
    EXPECT_EQ(launch->size, 8);
    EXPECT_EQ(launch->local_rank, 1);
    EXPECT_EQ(launch->launcher, "srun");
  }
}

TEST(Launch, ThePortIsAFunctionOfJobAndStep) {
  const auto port = [](const Variables& more) { return find_launch(of(with(step("n1"), more)))->port; };
  EXPECT_EQ(port({}), port({{"SLURM_PROCID", "0"}}));
  EXPECT_NE(port({}), port({{"SLURM_STEP_ID", "1"}}));
  EXPECT_GE(port({}), 20000);
  EXPECT_LT(port({}), 40000);
  EXPECT_EQ(port({{"MASTER_PORT", "4000"}}), 4000);
}

TEST(Launch, ABatchScriptThatSrunDidNotStartIsAlone) {
  EXPECT_FALSE(find_launch(of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "77"}})));
}

TEST(Launch, MpirunOnOneMachineMeetsThere) {
  const auto open_mpi = find_launch(of({{"OMPI_COMM_WORLD_RANK", "1"},
                                        {"OMPI_COMM_WORLD_SIZE", "4"},
                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}));
  const auto mpich =
      find_launch(of({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}}));
  for (const auto& launch : {open_mpi, mpich}) {
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->rank, 1);
    EXPECT_EQ(launch->size, 4);
    EXPECT_EQ(launch->local_rank, 1);
    EXPECT_EQ(launch->address, "127.0.0.1");
    EXPECT_EQ(launch->launcher, "mpirun");
  }
}

TEST(Launch, MpirunOnSeveralMachinesNeedsAPlaceToMeet) {
  const Variables two{{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_TRUE(contains(launch_error(two), "set MASTER_ADDR and MASTER_PORT"));
  EXPECT_EQ(find_launch(of(with(two, {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "4000"}})))->address, "n1");
}

}  // namespace
}  // namespace segre::launch_test
