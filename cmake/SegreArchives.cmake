# Defines segre::minizip, segre::png and segre::zlib. They are linked statically, so that a program runs where they are
# not installed. An installed segre looks for them anew: they may lie elsewhere than where it was built.
#
#   segre_add_archives(<result>)   what is missing, "" if nothing is
function(segre_add_archives result)
  find_library(SEGRE_ZLIB libz.a)
  find_library(SEGRE_PNG libpng.a)
  find_library(SEGRE_MINIZIP libminizip.a)
  set(missing "")
  foreach(name zlib png minizip)
    string(TOUPPER SEGRE_${name} file)
    if(NOT ${file})
      list(APPEND missing ${name})
    elseif(NOT TARGET segre::${name})
      add_library(segre::${name} STATIC IMPORTED)
      set_target_properties(segre::${name} PROPERTIES IMPORTED_LOCATION "${${file}}")
    endif()
  endforeach()
  if(NOT missing)
    target_link_libraries(segre::png INTERFACE segre::zlib)
    target_link_libraries(segre::minizip INTERFACE segre::zlib)
  endif()
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()
