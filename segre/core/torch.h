#pragma once

// The part of LibTorch that segre uses: tensors, their operations and autograd, without torch::nn. It is precompiled
// (CMakeLists.txt); the umbrella torch/torch.h would cost every file three seconds more.
#include <ATen/Parallel.h>
#include <torch/types.h>
