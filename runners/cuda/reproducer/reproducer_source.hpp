// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/cuda/blas/gemm_problem.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"

namespace plumb::cuda {

/// Returns the text of cudnn_main.cpp.in, recurrent_main.cpp.in or cublaslt_main.cpp.in, embedded
/// by CMake. These are the parts of a reproducer's main.cpp that are the same for all layers. A
/// line kVariantsMark marks the place of the variants.
[[nodiscard]] std::string_view cudnn_frame();
[[nodiscard]] std::string_view recurrent_frame();
[[nodiscard]] std::string_view cublaslt_frame();
inline constexpr std::string_view kVariantsMark = "// ---- variants ----\n";

/// Returns the text of replay.hpp, which is the same for every reproducer.
[[nodiscard]] std::string_view replay_frame();

/// Returns the CMakeLists.txt of every reproducer. A line kLibraryMark marks the place of its
/// library.
[[nodiscard]] std::string_view cmake_frame();
inline constexpr std::string_view kLibraryMark = "# ---- library ----\n";

/// Key, library and seed that every reproducer states about itself.
struct Reproduction {
  /// One algorithm of cuBLASLt, for one form of a product.
  struct Product {
    results::Measurement row;  ///< with its time
    GemmProblem problem;
  };

  /// One engine of cuDNN, with its knobs, on one graph.
  struct Engine {
    results::Measurement row;  ///< with its time
    TensorGraph graph;
    std::int64_t engine = 0;
    std::vector<std::pair<std::string, std::int64_t>> knobs;  ///< "TILE_SIZE", or "#44": by number
  };

  std::string key;
  std::string library;  ///< name and version, for people
  std::uint64_t seed = 1;
};

/// Returns a title as constants of main.cpp.
[[nodiscard]] std::string title_text(const Reproduction& title);

/// Returns a row's time as an initialiser of replay.hpp's Row.
[[nodiscard]] std::string row_text(const results::Measurement& row);

/// Returns a frame with the variants at its mark for them.
[[nodiscard]] std::string with_variants(std::string_view frame, const std::string& variants);

/// Writes main.cpp of a program that executes cuDNN's engines.
[[nodiscard]] std::string engine_source(const Reproduction& title,
                                        const std::vector<Reproduction::Engine>& variants);

/// Writes main.cpp of a program that executes cuBLASLt's algorithms. They are those of the rows'
/// attribute "algorithm" or, where there is none, the heuristic's first.
[[nodiscard]] std::string product_source(const Reproduction& title,
                                         const std::vector<Reproduction::Product>& variants);

/// Writes the standalone program of a request's rows, by one library. That is cuDNN's graph API for
/// convolutions, attention and normalisations, its call for recurrent layers, or cuBLASLt for
/// products. Each engine has its plan's JSON with it, if the row has it. What built-in kernels do
/// before or after is left out, and the instructions say so. It needs neither a library nor a GPU.
/// `library` names version and GPU for people. Throws Error{kUser} if no row is of these libraries,
/// or none has a time.
[[nodiscard]] worker::Reproducer reproduce(const worker::Reproducer::Request& request,
                                           const std::string& library);

}  // namespace plumb::cuda
