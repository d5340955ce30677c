#include "segre/data/source.h"

#include "segre/core/error.h"
#include "segre/data/toys.h"

namespace segre {
namespace {

class JointSource final : public DataSource {
 public:
  explicit JointSource(JointTable table) : table_(std::move(table)), sampler_(table_) {}
  const Space& space() const override { return table_.space; }
  torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const override {
    return sampler_.draw(random, first_item, count);
  }
  const JointTable* joint() const override { return &table_; }

 private:
  JointTable table_;
  JointSampler sampler_;
};

}  // namespace

std::unique_ptr<DataSource> make_joint_source(JointTable table) {
  return std::make_unique<JointSource>(std::move(table));
}

std::unique_ptr<DataSource> open_source(const std::string& name) {
  static const std::string kJoint = "joint:";
  if (name == "coupled") return make_joint_source(coupled_binary());
  if (name == "mixture") return make_joint_source(gaussian_mixture());
  if (name == "pinwheel") return make_joint_source(pinwheel());
  if (name.starts_with(kJoint)) return make_joint_source(read_joint_csv(name.substr(kJoint.size())));
  fail_input("data source '", name, "' is not one of coupled, mixture, pinwheel, joint:FILE.csv");
}

}  // namespace segre
