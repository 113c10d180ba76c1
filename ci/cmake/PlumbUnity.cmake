# SPDX-License-Identifier: Apache-2.0
# With PLUMB_UNITY the sources of a target are compiled in groups, which read each header once. The build
# without it keeps includes honest (ci/nightly).

if(PLUMB_UNITY)
  set(CMAKE_UNITY_BUILD ON)
endif()

# Sources that are compiled alone all the same: their anonymous helpers, or macros that they include, have names that others
# in their target use too.
set(PLUMB_ALONE
  harness/analysis/compare/learned_noise.cpp
  harness/analysis/compare/rounds/aa_study.cpp
  harness/analysis/compare/rounds/round_comparison.cpp
  harness/analysis/compare/rounds/sequential_comparison.cpp
  harness/analysis/report/comparison_json.cpp
  harness/analysis/report/noise_json.cpp
  harness/analysis/report/run_json.cpp
  harness/cli/command_import.cpp
  harness/cli/command_model.cpp
  harness/cli/command_preview.cpp
  harness/importers/nvbench_file.cpp
  harness/model/onnx/layers/normalization_layers.cpp
  harness/results/run.cpp
  harness/serve/web_pages.cpp
  harness/session/run/suspect_confirmation.cpp
  harness/session/stored/stored_comparison.cpp
  harness/session/study/sample_file.cpp
  harness/session/work/executor.cpp
  harness/stats/change_points.cpp
  harness/stats/noise_estimate.cpp
  harness/stats/trimmed_mean.cpp
  reporting/content/qualification/qualification_evidence.cpp
  reporting/content/qualification/qualification_report.cpp
  reporting/content/qualification/qualification_summary.cpp
  reporting/content/stack/regret_report.cpp
  reporting/content/stack/stack_documents.cpp
  reporting/document/attribute_text.cpp
  reporting/prometheus/suite_metrics.cpp
  runners/cuda/blas/cublas_library.cpp
  runners/cuda/builtin/quantization.cpp
  runners/cuda/builtin/step_chain.cpp
  runners/cuda/dnn/attention_graph.cpp
  runners/cuda/dnn/convolution_graph.cpp
  runners/cuda/dnn/legacy/legacy_start.cpp
  runners/cuda/dnn/legacy/recurrent_problem.cpp
  runners/cuda/dnn/norm_graph.cpp
  runners/cuda/reproducer/reproduce.cpp
  runners/engine/exec/memory_plan.cpp
  runners/engine/reference/elementwise.cpp
  runners/engine/reference/elementwise_gradient.cpp
  runners/engine/reference/reduction.cpp
  runners/onednn/kernels/elementwise.cpp
  runners/onednn/kernels/mapped_copy.cpp
  runners/onednn/kernels/movement.cpp
  runners/onednn/kernels/reduction.cpp
  runners/onednn/kernels/resize.cpp
  runners/onednn/kernels/resize_geometry.cpp
  runners/onednn/layers/convolution_gradient.cpp
  runners/onednn/layers/product_gradient.cpp
  runners/onednn/reproducer/primitive_text.cpp
  suites/zoo/inception_v2.cpp
  suites/zoo/llama.cpp
  suites/zoo/mobilenet_v2.cpp
  suites/zoo/unet3d.cpp
  tests/unit/analysis/sequential_comparison_test.cpp
  tests/unit/cuda/builtin_layer_test.cpp
  tests/unit/cuda/recurrent_problem_test.cpp
  tests/unit/cuda/reproducer_test.cpp
  tests/unit/engine/calibration_test.cpp
  tests/unit/engine/quantized_constants_test.cpp
  tests/unit/engine/variant_search_test.cpp
  tests/unit/importers/nvbench_file_test.cpp
  tests/unit/loadgen/mlperf_log_test.cpp
  tests/unit/onednn/layers_test.cpp
  tests/unit/onednn/model_load_test.cpp
  tests/unit/onednn/model_modes_test.cpp
  tests/unit/onednn/model_plan_test.cpp
  tests/unit/onednn/parallel_branches_test.cpp
  tests/unit/onednn/reproducer_test.cpp
  tests/unit/onednn/zoo_layers_test.cpp
  tests/unit/stats/change_points_test.cpp
  tests/unit/stats/two_levels_test.cpp
  tests/unit/suite/suite_reader_test.cpp
)

# Groups the sources of a target by their folders, at most twelve together. Folders stay apart, so that what needs a library
# does not come along with what does not: the oneDNN backend is a module that cannot link protobuf.
function(plumb_group_sources target)
  if(NOT PLUMB_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
    if(NOT name IN_LIST PLUMB_ALONE)
      cmake_path(GET name PARENT_PATH folder)
      string(MAKE_C_IDENTIFIER "${folder}" folder)
      math(EXPR count_${folder} "${count_${folder}} + 1")
      math(EXPR number "(${count_${folder}} - 1) / 12")
      set_source_files_properties("${path}" PROPERTIES UNITY_GROUP "${folder}_${number}")
    endif()
  endforeach()
endfunction()
