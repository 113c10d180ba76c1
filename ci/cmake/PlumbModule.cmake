# SPDX-License-Identifier: Apache-2.0
# plumb_module: one folder, one static library, one alias plumb::NAME.
# plumb_program: an executable that users start, in bin/.
# plumb_worker: the executable of one backend, in libexec/plumb/.
# plumb_test:   the unit tests of one module, one executable, discovered by ctest.

add_library(plumb_options INTERFACE)
target_compile_features(plumb_options INTERFACE cxx_std_20)
target_compile_options(plumb_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wundef
  # GCC 12 warns falsely about std::string's own memcpy when it optimises (its bugs 105651, 105329 and 105545).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow>)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
find_program(PLUMB_CCACHE ccache)
if(PLUMB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${PLUMB_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${PLUMB_CCACHE}")
endif()

# A bundle (ci/package) carries third-party libraries in lib/plumb; as RPATH, unlike RUNPATH, the path also serves what those need.
set(PLUMB_BUNDLE_LINK_OPTIONS "LINKER:--disable-new-dtags")

# The pure core is what an outside project may link; the rest serves the program.
set(PLUMB_PUBLIC_MODULES base stats model rewrite measure loadgen results analysis)

# Nothing of such a target is timed: full optimisation would only make its build half as long again.
function(plumb_compile_quickly target)
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O1>")
endfunction()

# The headers that most modules read, compiled once for those that format text. Without PLUMB_UNITY they are not used, so that
# includes stay honest (ci/nightly).
function(plumb_module_headers target)
  file(WRITE "${PROJECT_BINARY_DIR}/${target}.cpp" "")
  add_library(${target} OBJECT "${PROJECT_BINARY_DIR}/${target}.cpp")
  target_link_libraries(${target} PRIVATE plumb_options fmt::fmt)
  target_precompile_headers(${target} PRIVATE <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <string>
    <variant> <vector> <fmt/format.h>)
endfunction()

# plumb_module(NAME [COMPILE_QUICKLY] HEADERS a.hpp… SOURCES a.cpp… DEPENDS plumb::base… PRIVATE_DEPENDS fmt::fmt…
#   [PRECOMPILED <CLI/CLI.hpp>…]): the last are headers that most of its sources read.
function(plumb_module name)
  cmake_parse_arguments(arg "COMPILE_QUICKLY" "" "HEADERS;PROJECT_HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS;PRECOMPILED" ${ARGN})
  if(NOT arg_SOURCES)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp" "")
    set(arg_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp")
  endif()
  add_library(plumb_${name} STATIC ${arg_SOURCES})
  plumb_group_sources(plumb_${name} ${arg_SOURCES})
  add_library(plumb::${name} ALIAS plumb_${name})
  target_sources(plumb_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}"
                 FILES ${arg_HEADERS})
  target_compile_features(plumb_${name} PUBLIC cxx_std_20)
  set(headers plumb_headers)
  if(arg_COMPILE_QUICKLY)
    plumb_compile_quickly(plumb_${name})
    set(headers plumb_quick_headers)
  endif()
  if(arg_PRECOMPILED)
    target_precompile_headers(plumb_${name} PRIVATE ${arg_PRECOMPILED})
  elseif(PLUMB_UNITY AND fmt::fmt IN_LIST arg_PRIVATE_DEPENDS)
    if(NOT TARGET ${headers})
      plumb_module_headers(${headers})
      if(arg_COMPILE_QUICKLY)
        plumb_compile_quickly(${headers})
      endif()
    endif()
    target_precompile_headers(plumb_${name} REUSE_FROM ${headers})
  endif()
  target_link_libraries(plumb_${name} PUBLIC ${arg_DEPENDS}
                        PRIVATE $<BUILD_INTERFACE:plumb_options> ${arg_PRIVATE_DEPENDS})
  set_target_properties(plumb_${name} PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME ${name})
  if(name IN_LIST PLUMB_PUBLIC_MODULES)
    install(TARGETS plumb_${name} EXPORT plumbTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/plumb"
            FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/plumb")
  endif()
endfunction()

# plumb_program(NAME SOURCES a.cpp… DEPENDS plumb::model…): target NAME, built in and installed to bin.
function(plumb_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  plumb_group_sources(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE plumb_options ${arg_DEPENDS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin"
    INSTALL_RPATH "$ORIGIN/../lib/plumb")
  target_link_options(${name} PRIVATE ${PLUMB_BUNDLE_LINK_OPTIONS})
  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

# plumb_worker(BACKEND SOURCES a.cpp… DEPENDS plumb::engine… [NOT_INSTALLED]): target plumb_worker_BACKEND, file
# plumb-worker-BACKEND, where find_worker looks: libexec/plumb below the build tree and below the installation.
function(plumb_worker backend)
  cmake_parse_arguments(arg "NOT_INSTALLED" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(plumb_worker_${backend} ${arg_SOURCES})
  plumb_group_sources(plumb_worker_${backend} ${arg_SOURCES})
  target_link_libraries(plumb_worker_${backend} PRIVATE plumb_options plumb::worker ${arg_DEPENDS})
  target_include_directories(plumb_worker_${backend} PRIVATE "${PROJECT_SOURCE_DIR}")
  set_target_properties(plumb_worker_${backend} PROPERTIES
    OUTPUT_NAME "plumb-worker-${backend}"
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/libexec/plumb"
    INSTALL_RPATH "$ORIGIN/../../lib/plumb")
  target_link_options(plumb_worker_${backend} PRIVATE ${PLUMB_BUNDLE_LINK_OPTIONS})
  if(NOT arg_NOT_INSTALLED)
    install(TARGETS plumb_worker_${backend} RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/plumb")
  endif()
endfunction()

# The headers that every test reads, compiled once: an executable, since its code is compiled as that of executables.
function(plumb_test_headers)
  file(WRITE "${PROJECT_BINARY_DIR}/test_headers.cpp" "")
  add_executable(plumb_test_headers "${PROJECT_BINARY_DIR}/test_headers.cpp")
  plumb_compile_as_test(plumb_test_headers)
  target_precompile_headers(plumb_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <string> <vector>)
endfunction()

function(plumb_compile_as_test target)
  target_link_libraries(${target} PRIVATE plumb_options GTest::gmock_main)
  # GCC 12 sees uninitialised strings and endless copies in large test bodies where there are none.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-stringop-overflow;-Wno-array-bounds>")
  # Most of a build's time is compiling tests, and what takes their time is in the modules: no optimisation saves a fifth.
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O0>")
endfunction()

# plumb_test(NAME [NIGHTLY] SOURCES a_test.cpp… DEPENDS plumb::model… [LABELS unit] [ENVIRONMENT A=b…]): with NIGHTLY, those
# whose names begin with Nightly have that label alone: ci/test leaves them out.
function(plumb_test name)
  cmake_parse_arguments(arg "NIGHTLY" "" "SOURCES;DEPENDS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(plumb_${name}_test ${arg_SOURCES})
  plumb_group_sources(plumb_${name}_test ${arg_SOURCES})
  target_link_libraries(plumb_${name}_test PRIVATE ${arg_DEPENDS})
  plumb_compile_as_test(plumb_${name}_test)
  target_include_directories(plumb_${name}_test PRIVATE "${PROJECT_SOURCE_DIR}")
  target_precompile_headers(plumb_${name}_test REUSE_FROM plumb_test_headers)
  set(filter)
  if(arg_NIGHTLY)
    set(filter TEST_FILTER "-Nightly*")
    gtest_discover_tests(plumb_${name}_test DISCOVERY_MODE PRE_TEST TEST_FILTER "Nightly*" TEST_LIST plumb_${name}_nightly
      PROPERTIES LABELS nightly TIMEOUT 600 ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  gtest_discover_tests(plumb_${name}_test DISCOVERY_MODE PRE_TEST ${filter}
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600 ENVIRONMENT "${arg_ENVIRONMENT}")
  set_property(GLOBAL APPEND PROPERTY PLUMB_TEST_EXECUTABLES "$<TARGET_FILE:plumb_${name}_test>")
endfunction()
