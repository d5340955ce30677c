# A Debian package of the program that brings its LibTorch along, so that one built on Debian 12 runs on Debian 13 and
# Ubuntu 24.04 as well: 'make deb'. LibTorch goes to lib/segre/torch/lib, the only place where the packed program looks.
#
#   segre_package(<LibTorch's directory>)
function(segre_package torch)
  get_filename_component(real "${torch}" REALPATH)
  set(into lib/segre/torch)
  foreach(name libtorch_cpu.so libc10.so libgomp.so.1)
    if(EXISTS "${real}/lib/${name}")
      list(APPEND files "${real}/lib/${name}")
    endif()
  endforeach()
  # What the wheel's libtorch_cpu is linked with besides; it looks beside itself, too.
  file(GLOB nvidia "${real}/../nvidia/cu*/lib/libcudart.so.*" "${real}/../nvidia/cu*/lib/libcupti.so.[0-9]*")
  list(FILTER nvidia EXCLUDE REGEX "\\.so\\.[0-9]+\\.[0-9.]+$")
  install(FILES ${files} ${nvidia} DESTINATION ${into}/lib COMPONENT torch EXCLUDE_FROM_ALL)
  set(licences "${real}/../torch-*.dist-info/licenses")
  file(GLOB licence "${real}/LICENSE" "${real}/NOTICE" "${licences}/LICENSE" "${licences}/NOTICE")
  install(FILES ${licence} DESTINATION ${into} COMPONENT torch EXCLUDE_FROM_ALL)
  # The place where it was built, in a home, must not be one from which others' programs load libraries.
  install(CODE "file(RPATH_SET FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/segre\"
    NEW_RPATH [[$ORIGIN/../lib/segre/torch/lib]])" COMPONENT torch EXCLUDE_FROM_ALL)

  # Of the system that it is built on.
  execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc)
  string(REGEX MATCH "[0-9.]+" libc "${libc}")
  string(REGEX MATCH "^[0-9]+" gcc "${CMAKE_CXX_COMPILER_VERSION}")

  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME segre)
  set(CPACK_PACKAGE_CONTACT "The segre authors")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_PACKAGE_DIRECTORY "${CMAKE_BINARY_DIR}/deb")
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
  set(CPACK_COMPONENTS_ALL program torch)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_STRIP_FILES OFF)  # LibTorch's are stripped, and the program is small
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "libc6 (>= ${libc}), libstdc++6 (>= ${gcc}), libgcc-s1, libgomp1, libcurl4 | libcurl4t64")
  include(CPack)
endfunction()
