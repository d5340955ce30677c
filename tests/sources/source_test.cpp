#include "segre/data/source.h"

#include <set>

#include "segre/sources/source_kinds.h"
#include "segre/sources/toys.h"
#include "tests/support/archives.h"
#include "tests/support/support.h"

namespace segre::source_test {
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
  for (const char* name : {"couple", "", "coupled ", "Joint:x.csv", "joint", "coupled:x", "couple?a=1"})
    EXPECT_EQ(input_error([&] { open_source(name); }),
              concat("data source '", name,
                     "' is not one of coupled, mixture, pinwheel, glyphs, streets, joint:FILE.csv, csv:FILE, idx:FILE, "
                     "png:DIR, npy:FILE, omniglot:ZIP, cityscapes:DIR"));
}

TEST(Source, ParquetIsReadFromPython) {
  EXPECT_EQ(input_error([] { open_source("parquet:t.parquet"); }),
            "data source 'parquet:t.parquet': Parquet is read by the Python package, segre.fit(\"parquet:t.parquet\", "
            "out=DIR), whose runs are those of the program; or convert the file: python3 -c 'import pandas; "
            "pandas.read_parquet(\"t.parquet\").to_csv(\"t.parquet.csv\", index=False)'");
}

TEST(Source, OptionsAreThoseOfTheKind) {
  EXPECT_EQ(input_error([] { open_source("coupled?seed=1"); }),
            "data source coupled?seed=1: unknown option seed; coupled has no options");
  EXPECT_EQ(input_error([] { open_source("npy:x.npy?label=1"); }),
            "data source npy:x.npy?label=1: unknown option label; the nearest is labels, npy has labels, limit");
  EXPECT_EQ(input_error([] { open_source("csv:"); }),
            "data source 'csv:': nothing follows the colon, csv:FILE was expected");
}

TEST(Source, EveryKindSaysWhatItIsAndWhatItsOptionsDo) {
  std::set<std::string> names;
  for (const SourceKind& kind : source_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.help.empty()) << kind.name;
    for (const SourceOption& option : kind.options) EXPECT_FALSE(option.help.empty()) << kind.name << option.name;
  }
}

TEST(Source, APackedJointAndATableAreOpenedByTheirNames) {
  const ScratchFolder folder;
  write_text(folder / "j.csv.gz", test::gzip_bytes("a,p\nx,0.25\ny,0.75\n"));
  EXPECT_EQ(open_source("joint:" + (folder / "j.csv.gz").string())->joint()->p[1].item<double>(), 0.75);
  write_text(folder / "t.csv", "a,b\n1,x\n2,y\n1,y\n");
  const auto source = open_source("csv:" + (folder / "t.csv").string() + "?limit=2");
  EXPECT_EQ(source->n_items(), 2);
  EXPECT_TRUE(torch::equal(source->rows(0, 2), torch::tensor({{0, 0}, {1, 1}}, torch::kInt64)));
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
}  // namespace segre::source_test
