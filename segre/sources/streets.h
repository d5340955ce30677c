#pragma once

#include "segre/data/source_name.h"
#include "segre/sources/generated.h"

namespace segre {

/// The options of `streets`.
const std::vector<SourceOption>& streets_options();

/// An endless source of label maps of street scenes in Cityscapes' 8 categories, painted by draw_street at any size:
/// `streets?height=128&width=256`. Item k is a pure function of the seed and k. InputError for unknown options.
std::unique_ptr<DataSource> make_streets_source(const SourceName& name);

}  // namespace segre
