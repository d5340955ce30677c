#pragma once  // internal

#include <filesystem>
#include <vector>

#include "segre/read/resize.h"
#include "segre/space/space.h"

namespace segre {

/// Number of Cityscapes' categories.
inline constexpr int64_t kCityscapesCategories = 8;

/// Cityscapes' categories in their official order, void first, each in the colour of its most frequent class.
LabelSet cityscapes_categories();

/// The category of a label id: 0 (unlabeled) to 33 (bicycle), or 255, the byte for -1 (license plate). -1 for others.
int32_t cityscapes_category(int64_t label_id);

/// The label maps that cityscapes:DIR reads, see find_files.
std::vector<std::filesystem::path> cityscapes_files(const SourceName& name);

/// The size that it resizes them to.
ImageSize cityscapes_size(const SourceName& name);

}  // namespace segre
