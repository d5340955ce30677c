#include "segre/config/kinds.h"

#include "tests/support/support.h"

namespace segre::kinds_test {
namespace {

struct Red {
  int64_t depth = 3;
};
struct Blue {
  std::vector<int64_t> widths = {1, 2};
};

TEST(OptionSet, KeepsAStructPerTypeAndCopiesThemAll) {
  OptionSet options;
  EXPECT_EQ(std::as_const(options).of<Red>().depth, 3) << "defaults until somebody changes them";
  options.of<Red>().depth = 5;
  options.of<Blue>().widths.push_back(7);
  OptionSet copy = options;
  copy.of<Red>().depth = 6;
  EXPECT_EQ(options.of<Red>().depth, 5);
  EXPECT_EQ(std::as_const(copy).of<Blue>().widths, (std::vector<int64_t>{1, 2, 7}));
}

TEST(OptionSet, AssignmentKeepsReferences) {
  OptionSet options;
  Red& red = options.of<Red>();
  Blue& blue = options.of<Blue>();
  OptionSet other;
  other.of<Red>().depth = 9;
  options = other;
  EXPECT_EQ(red.depth, 9);
  EXPECT_EQ(blue.widths, (std::vector<int64_t>{1, 2})) << "the other has the defaults";
  blue.widths = {4};
  options = OptionSet();
  EXPECT_EQ(red.depth, 3);
  EXPECT_EQ(&options.of<Red>(), &red);
  EXPECT_EQ(options.of<Blue>().widths, (std::vector<int64_t>{1, 2}));
}

struct Shade {
  std::string name;
  std::string help;
};
const std::vector<Shade> kShades{{"light", ""}, {"dark", "as night"}};

TEST(Kinds, AreFoundByNameAndListedIfNot) {
  EXPECT_EQ(find_kind(kShades, "dark", "shade").help, "as night");
  EXPECT_EQ(test::input_error([] { find_kind(kShades, "drak", "shade"); }), "shade 'drak' is not one of light, dark");
  EXPECT_EQ(list_kinds(kShades), "light, dark (as night)");
}

TEST(Kinds, AKeyChoosesAmongThem) {
  std::string chosen = "light";
  ConfigSchema schema;
  declare_kind_key(schema, "page.shade", &chosen, kShades, Later::fixed, "of the page");
  schema.set("page.shade=dark");
  EXPECT_EQ(chosen, "dark");
  EXPECT_TRUE(schema.to_toml(/*with_help=*/true).find("of the page: light, dark (as night)") != std::string::npos);
  EXPECT_EQ(test::input_error([&] { schema.set("page.shade=grey"); }),
            "set: page.shade = 'grey': expected one of \"light\", \"dark\"");
}

}  // namespace
}  // namespace segre::kinds_test
