#pragma once

#include <string>
#include <vector>

#include "segre/io/fetch.h"

namespace segre {

/// A public data set that can be fetched.
struct PublicData {
  std::string name;
  std::vector<FetchFile> files;
  std::string source;  ///< an example of a source among its files, to follow the folder: "idx:%/train..."
};

/// The data sets there are: mnist, omniglot.
const std::vector<PublicData>& public_data();

/// The one of this name; InputError lists the names there are.
const PublicData& public_data(const std::string& name);

}  // namespace segre
