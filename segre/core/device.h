#pragma once  // internal

#include <string>

#include "segre/core/torch.h"

namespace segre {

/// "cpu", "cuda", "cuda:1" -> device, a GPU with its number. InputError if this machine or build does not have it;
/// `what` names the user's option in the message.
torch::Device parse_device(const std::string& name, const std::string& what = "device");

/// A GPU with its number: torch::kCUDA alone is whichever is current in the calling thread.
torch::Device numbered(torch::Device device);

}  // namespace segre
