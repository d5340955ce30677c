#pragma once

#include <memory>
#include <string>

#include "segre/data/joint_table.h"

namespace segre {

/// Where data come from: items of labels in a space, addressed by number so that any batch can be had again.
class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual const Space& space() const = 0;
  /// Items number first_item ... of the stream: [count, n] int64.
  virtual torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const = 0;
  /// The exact distribution, where it is known; else nullptr.
  virtual const JointTable* joint() const = 0;
};

/// Opens a source named as on the command line: coupled, mixture, pinwheel, joint:FILE.csv. InputError lists the kinds.
std::unique_ptr<DataSource> open_source(const std::string& name);

/// A source that draws from a known joint distribution.
std::unique_ptr<DataSource> make_joint_source(JointTable table);

}  // namespace segre
