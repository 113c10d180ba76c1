# SPDX-License-Identifier: Apache-2.0
# With PLUMB_UNITY the sources of a target are compiled in groups: a whole build takes about half the time. unity_groups.py
# decides which sources go together. The build without it keeps includes honest (ci/nightly).

if(PLUMB_UNITY)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  set(CMAKE_UNITY_BUILD ON)
  file(GLOB_RECURSE sources RELATIVE "${PROJECT_SOURCE_DIR}"
       harness/*.cpp reporting/*.cpp runners/*.cpp suites/*.cpp tests/*.cpp)
  list(JOIN sources "\n" sources)
  file(WRITE "${PROJECT_BINARY_DIR}/unity_sources.txt" "${sources}")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/unity_groups.py" "${PROJECT_SOURCE_DIR}" 16
                  INPUT_FILE "${PROJECT_BINARY_DIR}/unity_sources.txt"
                  OUTPUT_FILE "${PROJECT_BINARY_DIR}/unity_groups.cmake" COMMAND_ERROR_IS_FATAL ANY)
  include("${PROJECT_BINARY_DIR}/unity_groups.cmake")
  # Collecting garbage later takes a seventh off GCC's time. The largest units take 1.4 GB.
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>")
endif()

# Groups the sources of a target. What needs a library does not come along with what does not: the oneDNN backend is a module
# that cannot link protobuf.
function(plumb_group_sources target)
  if(NOT PLUMB_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
    string(MAKE_C_IDENTIFIER "${name}" name)
    if(DEFINED PLUMB_GROUP_${name})
      set_source_files_properties("${path}" PROPERTIES UNITY_GROUP "${PLUMB_GROUP_${name}}")
    endif()
  endforeach()
endfunction()
