// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/reproducer/reproduce.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/model/key/layer_cost.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/measurement.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/onednn/exec/execution_plan.hpp"
#include "runners/onednn/exec/plan_program.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/reproducer/primitive_description.hpp"

namespace plumb::onednn {
namespace {

/// One variant to be reproduced.
struct ReproducedVariant {
  results::Measurement row;  ///< with its time
  ExecutionPlan plan;
  std::vector<std::pair<std::size_t, double>> expected;  ///< elements of the first output, by place
};

/// Contents from which a reproducer is made.
struct ReproducerSource {
  model::LayerSpec spec;
  std::string key;
  std::string library;  ///< name and version, for people
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> variables;  ///< that tune the library
  std::vector<ReproducedVariant> variants;
};

[[noreturn]] void refuse(const std::string& variant, const std::string& why) {
  throw Error(
      Error::Kind::kUser,
      fmt::format("no reproducer can be written for the variant '{}': {}. Reproducers use the "
                  "library's primitives on operands as the key has them: convolution, matmul, "
                  "pooling, softmax, normalization, element-wise, reorder and similar ones",
                  variant,
                  why));
}

std::string numbers_text(const model::LayerSpec& spec,
                         std::size_t operand,
                         const std::string& variant) {
  const auto numbers = engine::operand_numbers(spec, operand);
  if (!numbers) {
    refuse(
        variant,
        fmt::format("operand {} does not hold plain numbers, but conditions or indices", operand));
  }
  return fmt::format("{{{}, {}, {}, {:.17g}, {:.17g}, {:.17g}}}",
                     numbers->whole,
                     numbers->either_sign,
                     numbers->largest,
                     numbers->low,
                     numbers->span,
                     numbers->scale);
}

std::string buffer_text(const model::LayerSpec& spec,
                        const Buffer& buffer,
                        const std::string& variant) {
  if (buffer.pack) {
    refuse(variant, "the harness packs an operand for it");
  }
  if (buffer.role == Buffer::Role::kIntermediate) {
    return fmt::format("{{Role::intermediate, 0, 0, type::f32, {{}}, false, {{}}, {}}}",
                       buffer.bytes);
  }
  const bool input = buffer.role == Buffer::Role::kInput;
  if (input && !spec.has_input(buffer.operand)) {
    return fmt::format("{{Role::intermediate, 0, 0, type::f32, {{}}, false, {{}}, {}}}",
                       buffer.bytes);
  }
  const model::TensorType& type =
      input ? *spec.inputs[buffer.operand] : spec.outputs[buffer.operand];
  const bool reordered = buffer.view != buffer.layout;
  return fmt::format("{{Role::{}, {}, {}, type::{}, {}, {}, {}, {}}}",
                     input ? "input" : "output",
                     buffer.operand,
                     element_count(type),
                     type_text(library_type(type.dtype)),
                     input ? numbers_text(spec, buffer.operand, variant) : "{}",
                     reordered,
                     reordered ? descriptor_text(buffer.view) : "{}",
                     buffer.bytes);
}

std::string step_text(const model::LayerSpec& spec,
                      const Step& step,
                      PrimitiveDescription::LeftToLibrary left,
                      const std::string& variant) {
  const auto* const primitive = std::get_if<PrimitiveStep>(&step);
  if (primitive == nullptr) {
    refuse(variant, "one of its steps is a built-in kernel");
  }
  std::vector<std::string> arguments;
  for (const PrimitiveStep::Argument& argument : primitive->arguments) {
    if (argument.index < DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE &&
        (argument.index & DNNL_ARG_ATTR_SCALES) != 0) {
      refuse(variant, "it reads scales");
    }
    arguments.push_back(fmt::format(
        "{{{}, {}, {}}}", argument_text(argument.index), argument.buffer, argument.offset));
  }
  const bool deterministic = spec.math == model::LayerSpec::MathClass::kDeterministic;
  return fmt::format(
      "  {{\n{}    layer.steps.push_back(step({}(description), description,\n"
      "                               {{{}}}));\n  }}\n",
      primitive_text(primitive->primitive, deterministic, left),
      class_text(primitive->primitive),
      fmt::join(arguments, ", "));
}

std::string row_text(const results::Measurement& row) {
  return fmt::format("{{{:.9g}, {:.9g}, {:.9g}, {}, {}, {}}}",
                     row.summary.median.count(),
                     row.summary.interval.low.count(),
                     row.summary.interval.high.count(),
                     row.summary.n,
                     row.repetitions,
                     cpp_literal(row.output_hash));
}

std::string layer_text(const model::LayerSpec& spec,
                       const ReproducedVariant& variant,
                       std::size_t number) {
  const std::string& name = variant.row.variant;
  if (variant.plan.steps.empty()) {
    refuse(name, "nothing is executed: it is a view");
  }
  std::string text =
      fmt::format("Layer layer_{}(const dnnl::engine& engine) {{\n  Layer layer;\n", number);
  text += fmt::format("  layer.variant = {};\n", cpp_literal(name));
  text += fmt::format("  layer.row = {};\n", row_text(variant.row));
  for (const Buffer& buffer : variant.plan.buffers) {
    text += fmt::format("  layer.buffers.push_back({});\n", buffer_text(spec, buffer, name));
  }
  text += fmt::format("  layer.outputs = {{{}}};\n", fmt::join(variant.plan.outputs, ", "));
  PrimitiveDescription::LeftToLibrary left;  // between several steps, layouts are fixed
  left.weights = variant.plan.steps.size() == 1;
  left.activations = left.weights && results::VariantId(name).layout() == "any";
  for (const Step& step : variant.plan.steps) {
    text += step_text(spec, step, left, name);
  }
  text += "  layer.expected = {";
  for (const auto& [place, value] : variant.expected) {
    text += fmt::format("{}{{{}, {:.9g}}}", text.back() == '{' ? "" : ", ", place, value);
  }
  return text + "};\n  return layer;\n}\n\n";
}

/// Writes main.cpp of a reproducer. Throws Error{kUser} for a plan that needs more than the
/// library's primitives on plain operands, or for a primitive that is not covered
/// (primitive_text()).
std::string reproducer_source(const ReproducerSource& source) {
  std::string layers = fmt::format("constexpr const char* kKey = {};\n", cpp_literal(source.key));
  layers += fmt::format("constexpr const char* kLibrary = {};\n", cpp_literal(source.library));
  layers += fmt::format("constexpr std::uint64_t kSeed = {}U;\n", source.seed);
  const model::LayerCost cost = model::compute_cost(source.spec);
  layers += "/// What one execution multiplies and accumulates, and must read and write.\n";
  layers += fmt::format("[[maybe_unused]] constexpr std::int64_t kMacs = {};\n", cost.macs);
  layers += fmt::format("[[maybe_unused]] constexpr std::int64_t kBytes = {};\n\n",
                        (cost.input_bytes + cost.weight_bytes + cost.output_bytes).value);
  layers += "/// What the library was tuned by.\n";
  layers += "const std::vector<std::pair<const char*, const char*>> kVariables{\n";
  for (const auto& [name, value] : source.variables) {
    layers += fmt::format("    {{{}, {}}},\n", cpp_literal(name), cpp_literal(value));
  }
  layers += "};\n\n";
  std::vector<std::string> names;
  for (const ReproducedVariant& variant : source.variants) {
    names.push_back(fmt::format("layer_{}", names.size()));
    layers += layer_text(source.spec, variant, names.size() - 1);
  }
  layers += fmt::format("constexpr Layer (*kLayers[])(const dnnl::engine&) = {{{}}};\n",
                        fmt::join(names, ", "));
  const std::string_view frame = reproducer_frame();
  const std::size_t mark = frame.find(kLayersMark);
  PLUMB_CHECK(mark != std::string_view::npos);
  return std::string(frame.substr(0, mark)) + layers +
         std::string(frame.substr(mark + kLayersMark.size()));
}

constexpr std::size_t kPlaces = 64;  // elements of the output that the program compares

/// Lists the environment's variables that tune the library. The worker's environment holds only the
/// stack's variables.
std::vector<std::pair<std::string, std::string>> tuning_variables() {
  constexpr std::array<std::string_view, 5> kPrefixes{"OMP_", "GOMP_", "KMP_", "ONEDNN_", "DNNL_"};
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    const bool tunes =
        std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
          return text.starts_with(prefix);
        });
    if (tunes && equals != std::string_view::npos && text.find("VERBOSE") > equals) {
      found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::pair<std::size_t, double>> some_elements(const model::Tensor& output,
                                                          std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(element_count(output.type));
  const engine::RandomStream random(seed);
  std::vector<std::pair<std::size_t, double>> elements;
  for (std::size_t i = 0; i < std::min(kPlaces, count); ++i) {
    const std::size_t place = count <= kPlaces ? i : random.below(i, count);
    elements.emplace_back(place, engine::number_at(output, place));
  }
  return elements;
}

const VariantBuilder& offer_named(const VariantBuilder::List& builders, const std::string& name) {
  const auto found = std::find_if(
      builders.builders().begin(), builders.builders().end(), [&](const VariantBuilder& builder) {
        return builder.text() == name;
      });
  if (found == builders.builders().end()) {
    throw Error(Error::Kind::kUser,
                fmt::format("this library has no variant '{}' of the key", name));
  }
  return *found;
}

constexpr std::string_view kInstructions =
    R"text(It needs a C++17 compiler, CMake and oneDNN 3.x with its headers (`oneapi/dnnl/dnnl.hpp`), and nothing else.

```
cmake -S . -B build -Ddnnl_DIR=FOLDER_OF_dnnl-config.cmake
cmake -S . -B build -DDNNL_LIBRARY=/path/to/libdnnl.so.3 -DDNNL_INCLUDE_DIR=/path/to/include    # instead, without a package
cmake --build build
./build/reproducer
```

Where CMake finds Google Benchmark, the program takes its options and measures the same variants through it:

```
./build/reproducer --benchmark_filter=jit --benchmark_repetitions=10 --benchmark_report_aggregates_only=true
./build/reproducer --benchmark_format=json
```

`ONEDNN_VERBOSE=all ./build/reproducer 0` logs the library's calls for the first variant alone. The program sets the variables that
tuned the measured library, unless they are set already; they are listed in `main.cpp` (`kVariables`).
)text";

}  // namespace

worker::Reproducer reproduce(const worker::Reproducer::Request& request,
                             const VariantBuilder::List& builders,
                             const Device& device) {
  if (request.rows.empty()) {
    throw Error(Error::Kind::kUser, "there is no row to reproduce");
  }
  ReproducerSource source;
  source.spec = model::parse_key(request.key);
  source.key = request.key.text;
  const dnnl_version_t& version = *dnnl_version();
  source.library = fmt::format("oneDNN {}.{}.{}", version.major, version.minor, version.patch);
  source.seed = request.seed;
  source.variables = tuning_variables();
  const std::vector<model::Tensor> operands = engine::random_operands(source.spec, request.seed);
  for (const results::Measurement& row : request.rows) {
    if (!row.outcome.timed()) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "the variant '{}' has no time to reproduce: {}", row.variant, row.outcome.reason));
    }
    const VariantBuilder& builder = offer_named(builders, row.variant);
    PlanProgram program(device, source.spec, builder.build(), request.seed);
    program.bind(0, operands, false);
    program.enqueue(0);
    program.synchronize();
    source.variants.push_back(
        {row, builder.build(), some_elements(program.outputs(0).front(), request.seed)});
  }
  worker::Reproducer reproducer;
  reproducer.files = {{"main.cpp", reproducer_source(source)},
                      {"CMakeLists.txt", std::string(reproducer_cmake())}};
  reproducer.instructions = kInstructions;
  reproducer.log_variables = {{"ONEDNN_VERBOSE", "all"}};
  reproducer.log_prefix = "onednn_verbose";
  return reproducer;
}

}  // namespace plumb::onednn
