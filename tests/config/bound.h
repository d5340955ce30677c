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
    schema.integer("seed", &seed, {0, 100}, Later::fixed, "where randomness starts");
    schema.number("train.rate", &rate, {0, 1}, Later::fixed, "how fast");
    schema.flag("train.on", &on, Later::free, "whether at all");
    schema.text("data.name", &name, Later::contents, "which");
    schema.integers("net.sizes", &sizes, {1, 64}, Later::fixed, "how wide");
    schema.choice<Colour>("net.colour", &colour,
                          {{"red", Colour::red}, {"green", Colour::green}, {"blue", Colour::blue}}, Later::fixed,
                          "which colour");
  }
  Bound(const Bound&) = delete;  // the schema points at the members
  Bound& operator=(const Bound&) = delete;
};

}  // namespace segre::test
