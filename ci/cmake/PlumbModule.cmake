# SPDX-License-Identifier: Apache-2.0
# plumb_module: one folder, one static library, one alias plumb::NAME.
# plumb_test:   the unit tests of one module, one executable, discovered by ctest.

add_library(plumb_options INTERFACE)
target_compile_features(plumb_options INTERFACE cxx_std_20)
target_compile_options(plumb_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wundef)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
find_program(PLUMB_CCACHE ccache)
if(PLUMB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${PLUMB_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${PLUMB_CCACHE}")
endif()

# plumb_module(NAME HEADERS a.hpp… SOURCES a.cpp… DEPENDS plumb::base… PRIVATE_DEPENDS fmt::fmt…)
function(plumb_module name)
  cmake_parse_arguments(arg "" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(NOT arg_SOURCES)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp" "")
    set(arg_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp")
  endif()
  add_library(plumb_${name} STATIC ${arg_SOURCES})
  add_library(plumb::${name} ALIAS plumb_${name})
  target_sources(plumb_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}"
                 FILES ${arg_HEADERS})
  target_compile_features(plumb_${name} PUBLIC cxx_std_20)
  target_link_libraries(plumb_${name} PUBLIC ${arg_DEPENDS}
                        PRIVATE $<BUILD_INTERFACE:plumb_options> ${arg_PRIVATE_DEPENDS})
  set_target_properties(plumb_${name} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# plumb_test(NAME SOURCES a_test.cpp… DEPENDS plumb::model… [LABELS unit] [ENVIRONMENT A=b…])
function(plumb_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(plumb_${name}_test ${arg_SOURCES})
  target_link_libraries(plumb_${name}_test PRIVATE plumb_options ${arg_DEPENDS} GTest::gmock_main)
  target_include_directories(plumb_${name}_test PRIVATE "${PROJECT_SOURCE_DIR}")
  target_precompile_headers(plumb_${name}_test PRIVATE <gmock/gmock.h> <gtest/gtest.h> <string> <vector>)
  gtest_discover_tests(plumb_${name}_test DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300 ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
