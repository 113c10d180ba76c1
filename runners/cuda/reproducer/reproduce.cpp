// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/builtin/integer_variants.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/dnn/legacy/recurrent_problem.hpp"
#include "runners/cuda/dnn/legacy/recurrent_variants.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/reproducer/reproducer_source.hpp"

namespace plumb::cuda {
namespace {

/// Recurrent layer executed by one of cuDNN's algorithms.
struct RecurrentVariant {
  results::Measurement row;  ///< with its time
  abi::LegacyCalls::Recurrent::Algorithm algorithm =
      abi::LegacyCalls::Recurrent::Algorithm::kStandard;
};

/// Returns the name of replay.hpp's type for one of cuDNN's. Throws Unsupported for one that
/// recurrent layers lack.
const char* number_of(abi::CudnnCalls::Type type) {
  switch (type) {
    case abi::CudnnCalls::Type::kFloat:
      return "Number::f32";
    case abi::CudnnCalls::Type::kHalf:
      return "Number::f16";
    case abi::CudnnCalls::Type::kBfloat16:
      return "Number::bf16";
    default:
      throw Unsupported("a recurrent layer of a type other than f32, f16 and bf16");
  }
}

std::string layer_text(const RecurrentProblem& problem) {
  const model::RecurrentShape& s = problem.shape;
  return fmt::format(
      "Layer layer() {{\n  return {{static_cast<cudnnRNNMode_t>({}), "
      "static_cast<cudnnRNNBiasMode_t>({}), static_cast<cudnnDataType_t>({}), {}, "
      "static_cast<cudnnMathType_t>({}),\n          {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}};\n"
      "}}\n\n",
      static_cast<int>(problem.cell),
      static_cast<int>(problem.bias),
      static_cast<int>(problem.type),
      number_of(problem.type),
      static_cast<int>(problem.math),
      problem.batch_first,
      s.steps,
      s.batch,
      s.input,
      s.hidden,
      s.directions,
      problem.h0.has_value(),
      problem.c0.has_value(),
      problem.h.has_value(),
      problem.c.has_value());
}

/// Writes main.cpp of a program that executes a recurrent layer by cuDNN's call.
std::string recurrent_source(const Reproduction& title,
                             const RecurrentProblem& problem,
                             const std::vector<RecurrentVariant>& variants) {
  std::string list;
  for (const RecurrentVariant& variant : variants) {
    list += fmt::format("      {{{},\n       {}, static_cast<cudnnRNNAlgo_t>({})}},\n",
                        cpp_literal(variant.row.variant),
                        row_text(variant.row),
                        static_cast<int>(variant.algorithm));
  }
  return with_variants(
      recurrent_frame(),
      title_text(title) + layer_text(problem) +
          fmt::format("std::vector<Variant> variants() {{\n  return {{\n{}  }};\n}}\n", list));
}

using Part = std::pair<std::string, std::string>;  // name, value

constexpr std::string_view kEngines = "cudnn";
constexpr std::string_view kProducts = "cublaslt";
constexpr std::string_view kRecurrent = "cudnn-rnn";

[[noreturn]] void refuse(const std::string& text) {
  throw Error(Error::Kind::kUser, text);
}

/// Splits a variant's name at ';' and '='.
std::vector<Part> split_parts(const std::string& variant) {
  std::vector<Part> parts;
  std::string_view rest = variant;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      refuse(fmt::format("'{}' is not a variant", variant));
    }
    parts.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return parts;
}

std::string library_of(const results::Measurement& row) {
  const std::vector<Part> parts = split_parts(row.variant);
  return !parts.empty() && parts.front().first == "impl" ? parts.front().second : std::string();
}

bool is_knob_name(std::string_view name) {
  const bool numbered = name.starts_with('#');
  const std::string_view rest = numbered ? name.substr(1) : name;
  return !rest.empty() && std::all_of(rest.begin(), rest.end(), [&](char c) {
    const bool digit = c >= '0' && c <= '9';
    return digit || (!numbered && ((c >= 'A' && c <= 'Z') || c == '_'));
  });
}

std::int64_t integer(const Part& part, const std::string& variant) {
  std::int64_t value = 0;
  const char* const end = part.second.data() + part.second.size();
  const auto [reached, error] = std::from_chars(part.second.data(), end, value);
  if (error != std::errc() || reached != end) {
    refuse(fmt::format("'{}' of the variant '{}' is not a number", part.first, variant));
  }
  return value;
}

/// Removes the parts of an integer product from a variant's name. Returns whether there were any.
bool drop_integer_parts(std::string& variant) {
  bool found = false;
  for (const std::string_view part : {kScalesApart, kShiftedOperands}) {
    if (variant.ends_with(part)) {
      variant.resize(variant.size() - part.size());
      found = true;
    }
  }
  return found;
}

std::vector<GraphForm> graph_forms(const model::LayerSpec& spec, bool apart) {
  if (spec.op == "attention") {
    return {attention_form(spec)};
  }
  if (spec.op == "attention_backward") {
    return {attention_gradient_form(spec)};
  }
  return model::is_normalization(spec) ? norm_forms(spec) : convolution_forms(spec, apart);
}

/// Returns the graph, engine and knobs that a row's variant names.
Reproduction::Engine engine_variant(const model::LayerSpec& layer,
                                    const results::Measurement& timed) {
  Reproduction::Engine result{timed, {}, 0, {}};
  results::Measurement row = timed;
  const model::LayerSpec spec = drop_integer_parts(row.variant) && model::is_integer_product(layer)
                                    ? integer_product_of(layer)
                                    : layer;
  const bool apart = results::VariantId(row.variant).field("steps") == "apart";
  const std::vector<GraphForm> forms = graph_forms(spec, apart);
  const auto form = std::find_if(forms.begin(), forms.end(), [&](const GraphForm& one) {
    return row.variant.starts_with(fmt::format("impl={};{};engine=", kEngines, one.text));
  });
  if (form == forms.end()) {
    refuse(fmt::format("the variant '{}' has a form that this program does not know", row.variant));
  }
  result.graph = form->graph;
  const std::size_t begin = fmt::format("impl={};{};", kEngines, form->text).size();
  const std::vector<Part> parts = split_parts(row.variant.substr(begin));
  result.engine = integer(parts.front(), row.variant);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!is_knob_name(parts[i].first)) {
      refuse(fmt::format("'{}' of the variant '{}' is not a knob", parts[i].first, row.variant));
    }
    result.knobs.emplace_back(parts[i].first, integer(parts[i], row.variant));
  }
  return result;
}

/// Returns the form of the product that a row's variant names.
Reproduction::Product product_variant(const model::LayerSpec& layer,
                                      const results::Measurement& row) {
  std::string variant = row.variant;
  static_cast<void>(drop_integer_parts(variant));
  const model::LayerSpec spec =
      model::is_integer_product(layer) ? integer_product_of(layer) : layer;
  variant.resize(std::min(variant.size(), variant.find(";number=")));
  const std::size_t begin = std::min({variant.size(),
                                      variant.find(";accumulation="),
                                      variant.find(";operands="),
                                      variant.find(";steps=")});
  for (GemmProblem& form : gemm_forms(spec)) {
    if (variant.substr(begin) == form_text(form)) {
      return {row, std::move(form)};
    }
  }
  refuse(fmt::format("the variant '{}' has a form that this program does not know", row.variant));
}

RecurrentVariant recurrent_variant(const results::Measurement& row) {
  const std::string_view wanted = results::VariantId(row.variant).field("algo");
  for (const auto& [name, algorithm] : kRecurrentAlgorithms) {
    if (name == wanted) {
      return {row, algorithm};
    }
  }
  refuse(fmt::format("the variant '{}' does not name an algorithm of cuDNN's recurrent layers",
                     row.variant));
}

/// Writes main.cpp for rows of one library. Throws Unsupported.
std::string main_source(const model::LayerSpec& spec,
                        const Reproduction& title,
                        const std::vector<results::Measurement>& rows) {
  const std::string library = library_of(rows.front());
  if (library == kEngines) {
    std::vector<Reproduction::Engine> variants;
    variants.reserve(rows.size());
    for (const results::Measurement& row : rows) {
      variants.push_back(engine_variant(spec, row));
    }
    return engine_source(title, variants);
  }
  if (library == kRecurrent) {
    std::vector<RecurrentVariant> variants;
    variants.reserve(rows.size());
    for (const results::Measurement& row : rows) {
      variants.push_back(recurrent_variant(row));
    }
    return recurrent_source(title, recurrent_problem(spec), variants);
  }
  std::vector<Reproduction::Product> variants;
  variants.reserve(rows.size());
  for (const results::Measurement& row : rows) {
    variants.push_back(product_variant(spec, row));
  }
  return product_source(title, variants);
}

/// Returns the rows with a time that are of the same library as the first such row.
std::vector<results::Measurement> rows_of_one_library(const worker::Reproducer::Request& request) {
  std::vector<results::Measurement> rows;
  for (const results::Measurement& row : request.rows) {
    const std::string library = row.outcome.timed() ? library_of(row) : std::string();
    const bool known = library == kEngines || library == kProducts || library == kRecurrent;
    if (known && (rows.empty() || library == library_of(rows.front()))) {
      rows.push_back(row);
    }
  }
  if (rows.empty()) {
    refuse(fmt::format(
        "no reproducer can be written for these variants{}: it needs a variant with a time, of "
        "cuDNN's graphs (convolutions, attention, normalisations), its recurrent layers or "
        "cuBLASLt's products",
        request.rows.empty() ? "" : fmt::format(" ('{}')", request.rows.front().variant)));
  }
  return rows;
}

std::string cmake_text(bool cudnn) {
  const std::string lines =
      cudnn ? "find_path(CUDNN_HEADERS cudnn.h HINTS \"${CUDA_FOLDER}/include\" REQUIRED)\n"
              "find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS "
              "\"${CUDA_FOLDER}/lib64\" \"${CUDA_FOLDER}/lib\" REQUIRED)\n"
              "target_include_directories(reproducer SYSTEM PRIVATE \"${CUDNN_HEADERS}\")\n"
              "target_link_libraries(reproducer PRIVATE \"${CUDNN_LIBRARY}\")\n"
            : "find_library(CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.13 libcublasLt.so.12 "
              "HINTS \"${CUDA_FOLDER}/lib64\" \"${CUDA_FOLDER}/lib\" REQUIRED)\n"
              "target_link_libraries(reproducer PRIVATE \"${CUBLASLT_LIBRARY}\")\n";
  const std::string_view frame = cmake_frame();
  const std::size_t mark = frame.find(kLibraryMark);
  PLUMB_CHECK(mark != std::string_view::npos);
  return fmt::format(
      "{}{}{}", frame.substr(0, mark), lines, frame.substr(mark + kLibraryMark.size()));
}

std::string instructions(std::string_view library, bool others_take_part) {
  const bool cudnn = library != kProducts;
  const char* const what = cudnn ? "cuDNN 9 with `cudnn.h`" : "cuBLASLt with `cublasLt.h`";
  const char* const given =
      cudnn ? "-DCUDNN_LIBRARY=/path/to/libcudnn.so.9 -DCUDNN_HEADERS=/path/to/include"
            : "-DCUBLASLT_LIBRARY=/path/to/libcublasLt.so.13";
  const char* const log =
      cudnn ? "CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=stdout ./build/reproducer 0 > api.log"
            : "CUBLASLT_LOG_LEVEL=5 CUBLASLT_LOG_FILE=api.log ./build/reproducer 0";
  std::string text = fmt::format(
      "It needs a C++17 compiler, CMake, the CUDA toolkit's run time and {}, and a GPU to "
      "run.\n\n```\ncmake -S . -B build -DCUDA_FOLDER=/usr/local/cuda\ncmake -S . -B build {}    # "
      "of another version\ncmake --build build\n./build/reproducer\n```\n\n`{}` logs the library's "
      "calls for the first variant alone.\n\nA time is the difference of replaying 2N and N "
      "captured calls, divided by N, like the row's time. The operands hold seeded numbers, but "
      "not the row's, so the output is not compared.\n",
      what,
      given,
      log);
  if (library == kEngines) {
    text +=
        "\n`plan-N.json` is cuDNN's own description of variant N's plan: graph, device, engine and "
        "knobs.\n";
  }
  if (others_take_part) {
    text +=
        "\nThe row contains kernels of the harness before or after the library's call "
        "(`operands=made`, `operands=shifted`, `steps=apart`, `scales=apart`). The program leaves "
        "them out and takes less time.\n";
  }
  return text;
}

}  // namespace

worker::Reproducer reproduce(const worker::Reproducer::Request& request,
                             const std::string& library) {
  const model::LayerSpec spec = model::parse_key(request.key);
  const std::vector<results::Measurement> rows = rows_of_one_library(request);
  const std::string measured_by = library_of(rows.front());
  worker::Reproducer result;
  for (std::size_t i = 0; measured_by == kEngines && i < rows.size(); ++i) {
    if (const auto plan = rows[i].attributes.find("plan"); plan != rows[i].attributes.end()) {
      result.files.push_back({fmt::format("plan-{}.json", i), plan->second + "\n"});
    }
  }
  std::string source;
  try {
    source = main_source(spec, {request.key.text, library, request.seed}, rows);
  } catch (const Unsupported& reason) {
    refuse(reason.what());
  }
  result.files.push_back({"main.cpp", std::move(source)});
  result.files.push_back({"replay.hpp", std::string(replay_frame())});
  result.files.push_back({"CMakeLists.txt", cmake_text(measured_by != kProducts)});
  const bool others = std::any_of(rows.begin(), rows.end(), [](const results::Measurement& row) {
    const results::VariantId variant(row.variant);
    return variant.field("steps") == "apart" || variant.field("scales") == "apart" ||
           !variant.field("operands").empty();
  });
  result.instructions = instructions(measured_by, others);
  return result;
}

}  // namespace plumb::cuda
