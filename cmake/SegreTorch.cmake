# Defines the target segre::torch from a LibTorch directory (include/ and lib/), be it a downloaded LibTorch or the
# `torch` folder of the Python wheel. LibTorch's own find_package(Torch) insists on a full CUDA toolkit whenever the
# wheel was built with CUDA, even for a program that uses the CPU alone; this one asks only for what is linked.
#
#   segre_add_torch(<directory> <with CUDA: ON|OFF>)
function(segre_add_torch directory cuda)
  if(TARGET segre::torch)
    return()
  endif()
  if(NOT EXISTS "${directory}/include/torch/csrc/api/include/torch/torch.h" OR NOT EXISTS "${directory}/lib/libtorch_cpu.so")
    message(FATAL_ERROR "No LibTorch in '${directory}' (expected include/ and lib/libtorch_cpu.so). "
                        "Run 'make setup', or name one: make build TORCH_DIR=/path/to/libtorch")
  endif()
  add_library(segre::torch INTERFACE IMPORTED GLOBAL)
  target_include_directories(segre::torch SYSTEM INTERFACE
    "${directory}/include" "${directory}/include/torch/csrc/api/include")
  set(libraries torch_cpu c10)
  if(cuda)
    list(PREPEND libraries torch_cuda c10_cuda)
  endif()
  foreach(library IN LISTS libraries)
    target_link_libraries(segre::torch INTERFACE "${directory}/lib/lib${library}.so")
  endforeach()
  # The wheel's libraries find their NVIDIA dependencies by themselves at run time; the linker needs telling not to look.
  # as-needed would drop libtorch_cuda, whose kernels register themselves and are never called by name.
  target_link_options(segre::torch INTERFACE "LINKER:--allow-shlib-undefined" "LINKER:--no-as-needed"
                      "LINKER:-rpath,${directory}/lib")
  if(SEGRE_FUZZ)  # on one thread: loops are not cut up, and the library is there for its calls alone
    target_link_libraries(segre::torch INTERFACE gomp)
    return()
  endif()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  target_link_libraries(segre::torch INTERFACE OpenMP::OpenMP_CXX)
endfunction()
