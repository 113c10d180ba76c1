# SPDX-License-Identifier: Apache-2.0
# Makes the installed tree a CMake package: find_package(plumb), targets plumb::model, plumb::analysis…
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/plumb")
install(EXPORT plumbTargets NAMESPACE plumb:: DESTINATION "${package_folder}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/ci/cmake/plumbConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/plumbConfig.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/plumbConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/plumbConfig.cmake" "${PROJECT_BINARY_DIR}/plumbConfigVersion.cmake"
        DESTINATION "${package_folder}")
# onnx goes along: it was built for this project and no package of the distribution would fit.
install(FILES "${PLUMB_ONNX_ROOT}/lib/libonnx.a" "${PLUMB_ONNX_ROOT}/lib/libonnx_proto.a"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/plumb")
install(FILES LICENSE README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# Pipelines for other repositories, with the steps that they call.
install(DIRECTORY ci/templates/ DESTINATION "${CMAKE_INSTALL_DATADIR}/plumb/ci" USE_SOURCE_PERMISSIONS)
