#include "segre/core/version.h"

#include "segre_revision.h"

namespace segre {

std::string release() { return SEGRE_RELEASE; }
std::string revision() { return SEGRE_REVISION; }

}  // namespace segre
