// Trains on a known joint distribution and draws samples, with segre as an installed library.
#include <segre/data/source.h>
#include <segre/eval/total_variation.h>
#include <segre/experiment/experiment.h>
#include <iostream>

int main() {
  const auto source = segre::open_source("coupled");
  segre::Experiment recipe;
  const segre::Model model = segre::make_model(recipe, source->space(), torch::kCPU);
  segre::Trainer trainer(model, *source, recipe.train, /*seed=*/1);
  for (int k = 0; k < 500; ++k) trainer.step();
  segre::LabelingCounts counts(source->space());
  counts.add(segre::Sampler(model, recipe.sample, /*seed=*/1).draw(0, 100'000).labels);
  std::cout << "total variation " << segre::total_variation(*source->joint(), counts) << '\n';
}
