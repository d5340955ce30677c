#pragma once

#include "segre/config/schema.h"

namespace segre::test {

enum class Colour { red, green, blue };

/// A schema with a key of every kind, bound to variables beside it.
struct Bound {
  int64_t seed = 7;
  double rate = 0.5;
  bool on = false;
  std::string name = "x";
  std::vector<int64_t> sizes = {1, 2};
  Colour colour = Colour::green;
  ConfigSchema schema;

  Bound() {
    schema.integer("seed", &seed, {0, 100}, "where randomness starts");
    schema.number("train.rate", &rate, {0, 1}, "how fast");
    schema.flag("train.on", &on, "whether at all");
    schema.text("data.name", &name, "which");
    schema.integers("net.sizes", &sizes, {1, 64}, "how wide");
    schema.choice<Colour>("net.colour", &colour,
                          {{"red", Colour::red}, {"green", Colour::green}, {"blue", Colour::blue}}, "which colour");
  }
  Bound(const Bound&) = delete;  // the schema points at the members
  Bound& operator=(const Bound&) = delete;
};

}  // namespace segre::test
