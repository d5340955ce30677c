#include "segre/read/public_data.h"

#include "segre/core/error.h"
#include "segre/core/text.h"

namespace segre {
namespace {

struct Sum {
  const char* name;
  int64_t bytes;
  const char* sha256;
};

std::vector<FetchFile> files(const std::vector<std::string>& mirrors, const std::vector<Sum>& sums) {
  std::vector<FetchFile> out;
  for (const Sum& sum : sums) {
    out.push_back({sum.name, sum.bytes, sum.sha256, {}});
    for (const auto& mirror : mirrors) out.back().mirrors.push_back(mirror + sum.name);
  }
  return out;
}

PublicData mnist() {
  return {
      "mnist",
      files(
          {"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"},
          {{"train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
           {"train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
           {"t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
           {"t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}}),
      "idx:%/train-images-idx3-ubyte.gz?pad=2"};
}

PublicData omniglot() {
  return {
      "omniglot",
      files({"https://github.com/brendenlake/omniglot/raw/master/python/"},
            {{"images_background_small1.zip", 1319022,
              "f38eb80f801274ac2b4dff5b24289016bfaba4a7d5bb50deebf27104ad6cb8a4"},
             {"images_background_small2.zip", 1580917,
              "3ccaa407515a8778e5d0861875af38b17e418f301ad5bb3b5a6b65d901a41c7f"},
             {"images_background.zip", 9464212, "ad41ab679c8b5d90b271ef46be6987cc81211774a695c29dcc5367b2b26ee640"},
             {"images_evaluation.zip", 6462886, "1f61a8f3366785b057fc117d9228e78a16e3d976c8953b2a10fcc74cf0609cee"}}),
      "omniglot:%/images_background.zip"};
}

}  // namespace

const std::vector<PublicData>& public_data() {
  static const std::vector<PublicData> kAll{mnist(), omniglot()};
  return kAll;
}

const PublicData& public_data(const std::string& name) {
  std::vector<std::string> names;
  for (const PublicData& data : public_data()) {
    if (data.name == name) return data;
    names.push_back(data.name);
  }
  fail_input("data set '", name, "' is not one of ", join(names, ", "));
}

}  // namespace segre
