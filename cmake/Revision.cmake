# Writes the header with the revision, and leaves it alone where nothing changed.
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=10
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(revision "release")  # the sources of a release, without git
endif()
set(text "#pragma once\n#define SEGRE_RELEASE \"${RELEASE}\"\n#define SEGRE_REVISION \"${revision}\"\n")
set(old "")
if(EXISTS "${OUT}")
  file(READ "${OUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUT}" "${text}")
endif()
