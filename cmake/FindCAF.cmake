# Finds the C++ Actor Framework, which ships no CMake files of its own in the distributions served here.
#
# find_package(CAF [version] [COMPONENTS core io openssl] [REQUIRED])
# Targets: CAF::core, CAF::io, CAF::openssl. Variables: CAF_FOUND, CAF_VERSION, CAF_INCLUDE_DIR.

if(NOT CAF_FIND_COMPONENTS)
  set(CAF_FIND_COMPONENTS core)
endif()

find_path(CAF_INCLUDE_DIR caf/all.hpp)
mark_as_advanced(CAF_INCLUDE_DIR)

if(CAF_INCLUDE_DIR AND EXISTS "${CAF_INCLUDE_DIR}/caf/config.hpp")
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" _caf_version REGEX "^#define CAF_VERSION +[0-9]+")
  string(REGEX MATCH "[0-9]+" _caf_number "${_caf_version}")
  if(_caf_number)
    # CAF_VERSION is major * 10000 + minor * 100 + patch
    math(EXPR _caf_major "${_caf_number} / 10000")
    math(EXPR _caf_minor "(${_caf_number} / 100) % 100")
    math(EXPR _caf_patch "${_caf_number} % 100")
    set(CAF_VERSION "${_caf_major}.${_caf_minor}.${_caf_patch}")
  endif()
endif()

set(_caf_required CAF_INCLUDE_DIR)
foreach(_component IN LISTS CAF_FIND_COMPONENTS)
  find_library(CAF_${_component}_LIBRARY NAMES caf_${_component})
  mark_as_advanced(CAF_${_component}_LIBRARY)
  if(CAF_${_component}_LIBRARY)
    set(CAF_${_component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF REQUIRED_VARS CAF_INCLUDE_DIR CAF_core_LIBRARY VERSION_VAR CAF_VERSION HANDLE_COMPONENTS)

if(CAF_FOUND)
  find_package(Threads REQUIRED)
  foreach(_component IN LISTS CAF_FIND_COMPONENTS)
    if(CAF_${_component}_FOUND AND NOT TARGET CAF::${_component})
      add_library(CAF::${_component} UNKNOWN IMPORTED)
      # CAF's headers are system headers: its warnings are not ours.
      set_target_properties(CAF::${_component} PROPERTIES
        IMPORTED_LOCATION "${CAF_${_component}_LIBRARY}"
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}")
      if(_component STREQUAL "core")
        target_link_libraries(CAF::core INTERFACE Threads::Threads)
      else()
        target_link_libraries(CAF::${_component} INTERFACE CAF::core)
      endif()
      if(_component STREQUAL "openssl")
        target_link_libraries(CAF::openssl INTERFACE CAF::io)
      endif()
    endif()
  endforeach()
endif()
