# Runs PROGRAM with ARGUMENTS and checks its exit status and that it said TEXT.
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 20)
if(NOT status STREQUAL STATUS)
  message(FATAL_ERROR "exit status ${status}, expected ${STATUS}\n${said}")
endif()
string(FIND "${said}" "${TEXT}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "did not say \"${TEXT}\":\n${said}")
endif()
