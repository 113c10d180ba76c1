// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/reproducer/reproduce.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/onednn/exec/plan_program.hpp"
#include "runners/onednn/reproducer/frame.hpp"
#include "runners/onednn/reproducer/reproducer_source.hpp"

namespace plumb::onednn {
namespace {

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

const VariantBuilder& offer_named(const BuilderList& builders, const std::string& name) {
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

worker::Reproducer reproduce(const worker::ReproducerRequest& request,
                             const BuilderList& builders,
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
    PlanProgram program(device.engine, source.spec, builder.build(), request.seed);
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
