# SPDX-License-Identifier: Apache-2.0
# Finds every library the project uses. What Debian has comes from Debian; what `ci/setup` builds or unpacks
# once (onnx, oneDNN's headers and default library) lies in the user's cache folder.

if(DEFINED ENV{PLUMB_CACHE})
  set(default_cache "$ENV{PLUMB_CACHE}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(default_cache "$ENV{XDG_CACHE_HOME}/plumb")
else()
  set(default_cache "$ENV{HOME}/.cache/plumb")
endif()
set(PLUMB_CACHE "${default_cache}" CACHE PATH "Where ci/setup keeps what it built or downloaded")

file(STRINGS "${PROJECT_SOURCE_DIR}/ci/versions" version_lines REGEX "^[a-z]")
foreach(line IN LISTS version_lines)
  string(REGEX MATCH "^([a-z_]+)=([^ ]+)$" _ "${line}")
  set(PLUMB_VERSION_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

set(Protobuf_USE_STATIC_LIBS ON)
find_package(Protobuf REQUIRED)
set(PLUMB_ONNX_ROOT "${PLUMB_CACHE}/onnx-${PLUMB_VERSION_onnx}" CACHE PATH "Static onnx built by ci/setup")
# Not find_package(ONNX): its config file wants a Protobuf package that Debian does not ship.
if(NOT EXISTS "${PLUMB_ONNX_ROOT}/lib/libonnx.a")
  message(FATAL_ERROR "onnx ${PLUMB_VERSION_onnx} is not in '${PLUMB_ONNX_ROOT}': run ci/setup, which builds it once")
endif()
add_library(ONNX::onnx_proto STATIC IMPORTED)
set_target_properties(ONNX::onnx_proto PROPERTIES
  IMPORTED_LOCATION "${PLUMB_ONNX_ROOT}/lib/libonnx_proto.a"
  INTERFACE_INCLUDE_DIRECTORIES "${PLUMB_ONNX_ROOT}/include"
  INTERFACE_COMPILE_DEFINITIONS "ONNX_NAMESPACE=onnx;ONNX_ML=1"
  INTERFACE_LINK_LIBRARIES protobuf::libprotobuf)
add_library(ONNX::onnx STATIC IMPORTED)
set_target_properties(ONNX::onnx PROPERTIES
  IMPORTED_LOCATION "${PLUMB_ONNX_ROOT}/lib/libonnx.a"
  INTERFACE_LINK_LIBRARIES ONNX::onnx_proto)
set(PLUMB_ONEDNN_HEADERS "${PLUMB_CACHE}/onednn-headers-${PLUMB_VERSION_onednn_headers}/include"
    CACHE PATH "Headers of the oldest oneDNN 3.x supported")
set(PLUMB_ONEDNN_LIBRARY "${PLUMB_CACHE}/onednn-${PLUMB_VERSION_onednn}/lib/libdnnl.so.3"
    CACHE FILEPATH "oneDNN library of the default stack")

find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(CURL REQUIRED)
# Not find_package(prometheus-cpp): its config file wants civetweb, which the part used here does not need.
find_library(PLUMB_PROMETHEUS_CORE prometheus-cpp-core REQUIRED)
add_library(Prometheus::core UNKNOWN IMPORTED)
set_target_properties(Prometheus::core PROPERTIES IMPORTED_LOCATION "${PLUMB_PROMETHEUS_CORE}")
find_library(PLUMB_ELF elf REQUIRED)  # elfutils has no config file
find_library(PLUMB_CAPSTONE capstone REQUIRED)  # nor has Capstone 4
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
find_package(benchmark REQUIRED)
