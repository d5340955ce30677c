#pragma once  // internal

#include <string>
#include <vector>

#include "segre/io/fetch.h"

namespace segre {

/// A public data set that can be fetched.
struct PublicData {
  std::string name;
  std::vector<FetchFile> files;
  std::string source;  ///< an example source among its files, % being the folder: "idx:%/train..."
};

/// The available data sets: mnist, omniglot.
const std::vector<PublicData>& public_data();

/// The one with this name; InputError lists the available names.
const PublicData& public_data(const std::string& name);

}  // namespace segre
