# Fails unless every test that CTest knows has a time limit, so that a hang is a failure.
execute_process(COMMAND ${CTEST} --test-dir ${BUILD} --show-only=json-v1 OUTPUT_VARIABLE listing
                COMMAND_ERROR_IS_FATAL ANY)
string(JSON n_tests LENGTH "${listing}" tests)
string(REGEX MATCHALL "\"name\" : \"TIMEOUT\"" limits "${listing}")
list(LENGTH limits n_limits)
if(n_tests EQUAL 0 OR NOT n_tests EQUAL n_limits)
  message(FATAL_ERROR "${n_tests} tests, ${n_limits} of them with a time limit")
endif()
