#pragma once  // internal

#include "segre/data/source_name.h"
#include "segre/sources/generated.h"
#include "segre/sources/item_random.h"
#include "segre/sources/label_canvas.h"

namespace segre {

/// The options of `streets`.
const std::vector<SourceOption>& streets_options();

/// An endless source of label maps of street scenes in Cityscapes' 8 categories, painted by draw_street at any size:
/// `streets?height=128&width=256`. Item k is a pure function of the seed and k. InputError for unknown options.
std::unique_ptr<DataSource> make_streets_source(const SourceName& name);

/// The categories of Cityscapes, with its numbers.
enum StreetLabel : uint8_t { kVoid, kFlat, kConstruction, kObject, kNature, kSky, kHuman, kVehicle };

/// Paints, as labels, what a camera behind a windscreen might see of a street: a ground plane in perspective, rows of
/// houses or trees on both sides, the end of the street, then cars, people, poles and trees, near ones over far ones,
/// and the car's own bonnet (void) at the bottom.
void draw_street(LabelCanvas& canvas, ItemRandom& random);

}  // namespace segre
