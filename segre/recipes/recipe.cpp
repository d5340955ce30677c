#include "segre/recipes/recipe.h"

#include <algorithm>

#include "segre/net/unet.h"
#include "segre/recipes/pace.h"
#include "segre/recipes/recipe_parts.h"
#include "segre/recipes/table_recipe.h"

namespace segre {
namespace {

// Full size is for a GPU, the smaller ones for a CPU and for short trainings.
struct UNetSize {
  int64_t channels;
  int64_t res_blocks;
  int64_t heads;
  int64_t attention_pixels;  // maximum number of pixels for attention, whose cost is quadratic in them
  double items;              // items that training must see for this size to pay off
};
constexpr UNetSize kFull{32, 2, 4, 1024, 60'000};
constexpr UNetSize kSmall{16, 1, 2, 256, 10'000};
constexpr UNetSize kSmallest{8, 1, 1, 256, 0};

UNetOptions unet_of(const UNetSize& size, const Space& space) {
  UNetOptions unet;
  const Part& image = *space.image_part();
  const int64_t smallest = std::min(image.height(), image.width());
  const bool large = image.size() > 64 * 64;
  unet.channels = large && size.channels == kFull.channels ? 2 * kFull.channels : size.channels;
  unet.res_blocks = size.res_blocks;
  unet.heads = size.heads;
  // Halve while the image allows it and stays at least four pixels high; twice the channels below full resolution.
  unet.channel_mult = {1};
  for (int64_t side = 2; image.height() % side == 0 && image.width() % side == 0 && smallest / side >= 4 &&
                         unet.channel_mult.size() < 5;
       side *= 2)
    unet.channel_mult.push_back(2);
  // With as many channels as groups, a norm removes whatever is constant over a channel, which is exactly what time
  // adds.
  if (unet.channel_mult.size() == 1) unet.channels = std::max(unet.channels, 2 * size.channels);
  for (size_t level = 0; level < unet.channel_mult.size(); ++level) {
    const int64_t height = image.height() >> level;
    const int64_t pixels = height * (image.width() >> level);
    if (pixels > 64 && pixels <= size.attention_pixels && level > 0) unet.attention_at.push_back(height);
  }
  return unet;
}

Experiment image_recipe(const Space& space, int64_t n_items, const UNetSize& size) {
  Experiment e;
  e.train.evidence.kind = EvidenceKind::any;
  e.train.adam = {.beta2 = 0.999, .ema = 0.999, .clip = 1.0};
  e.net.kind = "unet";
  e.net.of<UNetOptions>() = unet_of(size, space);
  e.train.batch = batch_for(n_items, space.n_variables() > 64 * 64 ? 16 : size.channels == kFull.channels ? 128 : 32);
  e.train.schedule = {.lr = size.channels == kFull.channels ? 1e-3 : 2e-3, .warmup = 500, .kind = ScheduleKind::cosine};
  e.sample.sampler = "ab2";
  e.sample.steps = 19;  // 20 evaluations: the knee of `segre samplers` on digits
  e.train.steps = steps_for(n_items, 50, e.train.batch);
  return e;
}

bool is_image(const Space& space) { return space.is(PartKind::image); }

double flops_of(const Experiment& e, const Space& space) {
  return cost_of(plan_unet(space, e.net.of<UNetOptions>())).training_flops;
}

constexpr double kMostEfficient = 4.0;  // maximum gain in FLOP/s of a larger network

// Adapts batch and weight average to the number of items that fit into the time.
void shorten(Experiment& e, const Pace& pace, double seconds) {
  constexpr int64_t kStepsWanted = 600;
  constexpr int64_t kFewestItems = 4;
  while (e.train.batch > kFewestItems && pace.steps_within(seconds, e.train.batch) < kStepsWanted) e.train.batch /= 2;
  const auto steps = static_cast<double>(std::max<int64_t>(1, pace.steps_within(seconds, e.train.batch)));
  e.train.adam.ema = std::min(e.train.adam.ema, 1.0 - 1.0 / std::max(10.0, 0.1 * steps));
}

// Whether two experiments compute the same in a step of as many items.
bool takes_the_same_steps(Experiment a, Experiment b) {
  for (const auto& found : schema_of(a).differences(schema_of(b)))
    for (const char* part : {"net.", "model.", "path.", "train."})
      if (found.key.starts_with(part) && found.key != "train.batch" && found.key != "train.steps") return false;
  return true;
}

Choice choose(const RecipeTask& task) {
  const Space& space = task.source->space();
  const int64_t n_items = task.source->n_items();
  if (is_image(space) && (task.kind.empty() || task.kind == "unet")) {
    if (task.seconds > 0.0) return fit_recipe(task);
    return {.experiment = changed(recipe_for(space, n_items, task.device), task)};
  }
  if (task.kind.empty()) return choose_table_recipe(task);
  return {.experiment = changed(table_recipe(task.kind, space, n_items, task.device), task)};
}

}  // namespace

Experiment recipe_for(const Space& space, int64_t n_items, torch::Device device) {
  if (is_image(space)) return image_recipe(space, n_items, device.is_cpu() ? kSmall : kFull);
  return table_recipe(table_kind(space, device), space, n_items, device);
}

Choice fit_recipe(const RecipeTask& task) {
  const DataSource& source = *task.source;
  const Space& space = source.space();
  const double patience = probe_seconds(task.seconds);
  Experiment chosen = image_recipe(space, source.n_items(), kSmallest);
  Pace pace = measure_pace(chosen, source, task.device, patience);
  for (const UNetSize& size : {kSmall, kFull}) {
    const Experiment larger = image_recipe(space, source.n_items(), size);
    // Do not even try a network that is far too large: a single step may take longer than the time left.
    const double least = pace.item * flops_of(larger, space) / flops_of(chosen, space) / kMostEfficient;
    if (task.seconds / least < size.items) break;
    const Pace measured = measure_pace(larger, source, task.device, patience);
    if (task.seconds / measured.item < size.items) break;
    chosen = larger;
    pace = measured;
  }
  shorten(chosen, pace, task.seconds);
  Choice choice{.experiment = changed(chosen, task)};
  if (takes_the_same_steps(choice.experiment, chosen)) choice.pace = pace;
  return choice;
}

Choice choose_recipe(const RecipeTask& task) {
  std::vector<std::string> reasons;
  RecipeTask noted = task;
  noted.on_reason = [&](const std::string& reason) {
    reasons.push_back(reason);
    task.on_reason(reason);
  };
  Choice choice = choose(noted);
  choice.reasons = std::move(reasons);
  return choice;
}

}  // namespace segre
