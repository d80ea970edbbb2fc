# Functions that make the project's targets alike: one library or program per part, warnings as errors on own code.

find_program(SWITCHYARD_CCACHE ccache)
if(SWITCHYARD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the sources count relative to them, so that another clone finds what this one has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${SWITCHYARD_CCACHE}")
endif()

add_library(switchyard_options INTERFACE)
target_compile_features(switchyard_options INTERFACE cxx_std_20)
target_compile_options(switchyard_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<BOOL:${SWITCHYARD_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positives on std::string with optimisation: GCC bug 105651, mended in 13.
  target_compile_options(switchyard_options INTERFACE -Wno-restrict)
endif()
if(SWITCHYARD_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "SWITCHYARD_FUZZ needs clang with libFuzzer: configure a new build folder with CXX=clang++")
  endif()
  set(SWITCHYARD_SANITIZE "fuzzer-no-link,address,undefined")
endif()
if(SWITCHYARD_SANITIZE)
  target_compile_options(switchyard_options INTERFACE -fsanitize=${SWITCHYARD_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(switchyard_options INTERFACE -fsanitize=${SWITCHYARD_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented library code makes GCC see what is not there: std::regex, and Asio's fences under TSan.
    target_compile_options(switchyard_options INTERFACE -Wno-maybe-uninitialized -Wno-tsan)
  endif()
  # Every finding ends the program: cmake/sanitizers/default_options.cpp says how, and which findings in CAF's headers do not.
  add_library(switchyard_sanitizer_options OBJECT "${CMAKE_CURRENT_LIST_DIR}/sanitizers/default_options.cpp")
  target_compile_definitions(switchyard_sanitizer_options
    PRIVATE "SWITCHYARD_UBSAN_SUPPRESSIONS=\"${CMAKE_CURRENT_LIST_DIR}/sanitizers/ubsan.supp\"")
endif()

# In a sanitizer build, gives a program the sanitizers' options.
function(_switchyard_sanitizer_options target)
  if(TARGET switchyard_sanitizer_options)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:switchyard_sanitizer_options>)
  endif()
endfunction()

# switchyard_library(NAME [SOURCES ...] [PUBLIC ...] [PRIVATE ...])
# The library switchyard_NAME, alias switchyard::NAME, with its headers in include/ and its sources here.
function(switchyard_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(switchyard_${name} STATIC ${arg_SOURCES})
  add_library(switchyard::${name} ALIAS switchyard_${name})
  set_target_properties(switchyard_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(switchyard_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  target_link_libraries(switchyard_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:switchyard_options>)
endfunction()

# switchyard_program(NAME [SOURCES ...] [LINK ...])
function(switchyard_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} $<BUILD_INTERFACE:switchyard_options>)
  _switchyard_sanitizer_options(${name})
endfunction()

# switchyard_test(NAME [SOURCES ...] [LINK ...] [TIMEOUT seconds])
# A Catch2 program that ctest runs as NAME.
function(switchyard_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE switchyard_test_support ${arg_LINK} $<BUILD_INTERFACE:switchyard_options>)
  _switchyard_sanitizer_options(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()
