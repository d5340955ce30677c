# Defines the target segre::torch from a LibTorch directory (include/ and lib/), be it a downloaded LibTorch or the
# `torch` folder of the Python wheel. LibTorch's own find_package(Torch) insists on a full CUDA toolkit whenever the
# wheel was built with CUDA, even for a program that uses the CPU alone; this one requires only what is linked.
#
#   segre_add_torch(<directory> <with CUDA: ON|OFF>)   defines the target
#   segre_is_torch(<directory> <result>)               whether a LibTorch lies there
#   segre_torch_version(<directory> <result>)          "2.11", by its headers; "" if they do not say
#   segre_find_torch(<default> <result>)               where the LibTorch of a project that uses segre is; "" if nowhere
function(segre_is_torch directory result)
  set(${result} OFF PARENT_SCOPE)
  if(EXISTS "${directory}/include/torch/csrc/api/include/torch/torch.h" AND EXISTS "${directory}/lib/libtorch_cpu.so")
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

function(segre_torch_version directory result)
  set(version "")
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    set(file "${directory}/include/${header}")
    if(EXISTS "${file}" AND version STREQUAL "")
      file(READ "${file}" text)
      if(text MATCHES "TORCH_VERSION_MAJOR ([0-9]+).*TORCH_VERSION_MINOR ([0-9]+)")
        set(version "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
      endif()
    endif()
  endforeach()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# What the project sets comes first, and then nothing else will do: SEGRE_TORCH_DIR, as a variable or in the environment.
# Next the LibTorch that the project has found by itself (find_package(Torch), Torch_DIR) or has in its prefixes; last
# the one that segre was built against.
function(segre_find_torch default result)
  set(${result} "" PARENT_SCOPE)
  if(SEGRE_TORCH_DIR)
    set(places "${SEGRE_TORCH_DIR}")
  elseif(DEFINED ENV{SEGRE_TORCH_DIR})
    set(places "$ENV{SEGRE_TORCH_DIR}")
  else()
    set(places ${TORCH_INSTALL_PREFIX})
    if(Torch_DIR)
      list(APPEND places "${Torch_DIR}/../../..")
    endif()
    list(APPEND places ${CMAKE_PREFIX_PATH} "${default}")
  endif()
  foreach(place IN LISTS places)
    segre_is_torch("${place}" found)
    if(found)
      get_filename_component(place "${place}" ABSOLUTE)
      set(${result} "${place}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(segre_add_torch directory cuda)
  if(TARGET segre::torch)
    return()
  endif()
  segre_is_torch("${directory}" found)
  if(NOT found)
    message(FATAL_ERROR "No LibTorch in '${directory}' (expected include/ and lib/libtorch_cpu.so). "
                        "Run 'make setup', or name one: make build TORCH_DIR=/path/to/libtorch")
  endif()
  segre_torch_version("${directory}" version)
  if(version AND version VERSION_LESS 2.11)
    message(FATAL_ERROR "LibTorch ${version} in '${directory}': segre needs 2.11 or later")
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
  # What is to be installed elsewhere (SEGRE_RELOCATABLE) must not name this directory.
  target_link_options(segre::torch INTERFACE "LINKER:--allow-shlib-undefined" "LINKER:--no-as-needed"
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:SEGRE_RELOCATABLE>>>:LINKER:-rpath,${directory}/lib>)
  if(SEGRE_FUZZ)  # on one thread: loops are not cut up, and the library is there for its calls alone
    target_link_libraries(segre::torch INTERFACE gomp)
    return()
  endif()
  # By its flag, not by OpenMP::OpenMP_CXX: that names the compiler's libgomp.so by its path, of which CMake warns that
  # the one beside LibTorch may hide it. They are the same to both, and only one is loaded.
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  separate_arguments(flags UNIX_COMMAND "${OpenMP_CXX_FLAGS}")
  target_compile_options(segre::torch INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${flags}>")
  target_link_options(segre::torch INTERFACE ${flags})
endfunction()
