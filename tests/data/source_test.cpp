#include "segre/data/source.h"

#include "segre/data/toys.h"
#include "tests/support/support.h"

namespace segre {
namespace {

using test::input_error;
using test::ScratchFolder;
using test::write_text;

TEST(Source, TheToysHaveTheirTables) {
  EXPECT_TRUE(torch::equal(open_source("coupled")->joint()->p, coupled_binary().p));
  EXPECT_TRUE(torch::equal(open_source("mixture")->joint()->p, gaussian_mixture().p));
  EXPECT_TRUE(torch::equal(open_source("pinwheel")->joint()->p, pinwheel().p));
}

TEST(Source, AJointIsReadFromItsFile) {
  const ScratchFolder folder;
  write_text(folder / "j.csv", "a,p\nx,0.25\ny,0.75\n");
  const auto source = open_source("joint:" + (folder / "j.csv").string());
  EXPECT_EQ(source->space().label_name(0, 1), "y");
  EXPECT_EQ(source->joint()->p[1].item<double>(), 0.75);
}

TEST(Source, AnUnknownNameListsTheKinds) {
  for (const char* name : {"couple", "", "coupled ", "Joint:x.csv", "joint"})
    EXPECT_EQ(input_error([&] { open_source(name); }),
              concat("data source '", name, "' is not one of coupled, mixture, pinwheel, joint:FILE.csv"));
}

TEST(Source, AMissingFileIsNamed) {
  EXPECT_EQ(input_error([] { open_source("joint:/nowhere/j.csv"); }),
            "/nowhere/j.csv: cannot be opened (No such file or directory)");
}

TEST(Source, ItemsAreThoseOfTheJointSampler) {
  const auto table = test::random_joint(test::mixed_space());
  const auto source = make_joint_source(table);
  const RandomStream random(5, Purpose::training_data);
  EXPECT_TRUE(torch::equal(source->items(random, 17, 100), JointSampler(table).draw(random, 17, 100)));
  EXPECT_EQ(source->space().n_variables(), table.space.n_variables());
}

}  // namespace
}  // namespace segre
