# segre_find_gloo(<LibTorch directory> <result>): where Gloo's headers are, or "" with a message. Gloo's code is inside
# libtorch_cpu, its headers are not in the wheel; those of the distribution must fit, which is tested by compiling and
# linking a program that uses ProcessGroupGloo.
function(segre_find_gloo torch result)
  find_path(SEGRE_GLOO_HEADERS gloo/algorithm.h)
  set(${result} "" PARENT_SCOPE)
  if(NOT SEGRE_GLOO_HEADERS)
    message(STATUS "Gloo's headers were not found (libgloo-dev): segre will work as a single rank")
    return()
  endif()
  set(source "${CMAKE_BINARY_DIR}/gloo_fits.cpp")
  file(WRITE "${source}.new" "#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
int main() { return c10d::ProcessGroupGloo::createDefaultDevice() == nullptr; }
")
  # The answer is that of one LibTorch.
  segre_torch_version("${torch}" version)
  if(NOT SEGRE_GLOO_FOR STREQUAL version)
    unset(SEGRE_GLOO_FITS CACHE)
    set(SEGRE_GLOO_FOR "${version}" CACHE INTERNAL "LibTorch of SEGRE_GLOO_FITS")
  endif()
  file(COPY_FILE "${source}.new" "${source}" ONLY_IF_DIFFERENT)
  try_compile(SEGRE_GLOO_FITS "${CMAKE_BINARY_DIR}/gloo_fits" "${source}"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${torch}/include;${torch}/include/torch/csrc/api/include;${SEGRE_GLOO_HEADERS}"
    LINK_OPTIONS -Wl,--allow-shlib-undefined
    LINK_LIBRARIES "${torch}/lib/libtorch_cpu.so" "${torch}/lib/libc10.so"
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON OUTPUT_VARIABLE log)
  if(SEGRE_GLOO_FITS)
    set(${result} "${SEGRE_GLOO_HEADERS}" PARENT_SCOPE)
  else()
    file(WRITE "${CMAKE_BINARY_DIR}/gloo_fits.log" "${log}")
    message(STATUS "Gloo's headers in ${SEGRE_GLOO_HEADERS} do not fit LibTorch (gloo_fits.log): segre will work as a single rank")
  endif()
endfunction()
