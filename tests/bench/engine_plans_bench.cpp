// SPDX-License-Identifier: Apache-2.0
//
// The plan of every engine that cuDNN lists for the convolutions of the thirty vision models: those
// of heuristics A, B and FALLBACK, and each engine that applies, with its default knobs. Layers are
// plain and fused, in NCHW and NHWC, on a GPU that is described and not here.
//   engine_plans_bench CUDNN GPU DTYPE SHARD     libcudnn.so.9, a name of suites/gpus, f16, 2/8
// Another process asks, and one more goes on behind the layer with which it crashed or that took
// too long. Prints how many plans were made, and what was refused by engine and status. Exits 1 if
// anything crashed or was refused, or if cuDNN lists no engine for a layer in either layout.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/session/host/host.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/zoo/zoo_models.hpp"
#include "runners/cuda/dnn/engine_search.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb {
namespace {

using cuda::Descriptor;
using cuda::TensorLayout;

constexpr unsigned kMaxSeconds = 120;  // for one layer

/// What the asking processes have written.
struct Tally {
  std::size_t listed = 0;
  std::size_t made = 0;
  std::map<std::string, std::size_t> refused;
  std::vector<std::string> wrong;
  std::string last;  ///< line
};

std::vector<model::LayerSpec> list_convolutions(const std::string& dtype,
                                                const session::WorkSource::Shard& shard) {
  const session::ModelSource& source = session::zoo_models();
  suite::ResolvedSuite suite =
      session::resolve_suite(source, suite::read_suite(PLUMB_SUITES "/vision30.toml"));
  for (suite::ResolvedSuite::Model& model : suite.models) {
    model.dtype = dtype;
  }
  std::vector<model::LayerSpec> specs;
  for (const session::WorkSource::Item& item :
       session::work_items(session::load_models(source, suite, {}), {}, {}, shard)) {
    model::LayerSpec spec = model::parse_key(item.key);
    if (spec.op.starts_with("conv")) {
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

/// Makes all plans of a layer in one layout, and writes a line before and behind each. Returns
/// their number.
std::size_t make_plans(const cuda::CudnnLibrary& library,
                       const cuda::EngineTarget& target,
                       const cuda::TensorGraph& asked,
                       std::FILE* out) {
  const cuda::OperationGraph graph = cuda::operation_graph(library, asked);
  const std::vector<cuda::EngineTarget::Engine> engines =
      cuda::find_engines(library, graph, target);
  for (const cuda::EngineTarget::Engine& engine : engines) {
    fmt::print(out, "listed {}\n", cuda::engine_text(engine.facts));
    try {
      const Descriptor plan = cuda::execution_plan(library, engine.configuration, target);
      fmt::print(out, "made {}\n", plan.integer(cuda::abi::CudnnCalls::Attribute::kPlanWorkspace));
    } catch (const cuda::CudnnLibrary::Refusal& refusal) {
      fmt::print(out, "refused engine={}: {}\n", engine.facts.engine, refusal.what());
    }
  }
  return engines.size();
}

void ask(const cuda::CudnnLibrary& library,
         const std::string& device,
         const model::LayerSpec& spec,
         std::FILE* out) {
  Descriptor properties(library, cuda::abi::CudnnCalls::DescriptorType::kDeviceProperties);
  properties.set_text(cuda::abi::CudnnCalls::Attribute::kDeviceJson, device);
  properties.finish("a device");
  std::size_t engines = 0;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    try {
      engines +=
          make_plans(library, {&properties, nullptr}, cuda::convolution_graph(spec, layout), out);
    } catch (const cuda::Unsupported& reason) {
      fmt::print(out, "refused before cuDNN: {}\n", reason.what());
    } catch (const cuda::CudnnLibrary::Refusal& refusal) {
      fmt::print(out, "refused graph: {}\n", refusal.what());
    }
  }
  if (engines == 0) {
    fmt::print(out, "refused {}: no engine\n", model::to_key(spec).text);
  }
}

/// Adds what a process has written about the layers from `first` on. Returns the last of them.
std::size_t add_lines(const std::string& text, std::size_t first, Tally& tally) {
  std::istringstream lines(text);
  std::size_t layers = 0;
  for (std::string line; std::getline(lines, line); tally.last = line) {
    layers += line == "layer" ? 1U : 0U;
    tally.listed += line.starts_with("listed ") ? 1U : 0U;
    tally.made += line.starts_with("made ") ? 1U : 0U;
    if (line.starts_with("refused ")) {
      ++tally.refused[line.substr(8)];
    }
  }
  return first + layers - 1;
}

/// Asks about layers in a process of its own until it ends, and adds what it wrote. Returns the
/// first layer that is left.
std::size_t ask_some(const cuda::CudnnLibrary& library,
                     const std::string& device,
                     const std::vector<model::LayerSpec>& specs,
                     std::size_t first,
                     Tally& tally) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::FILE* const out = fdopen(ends[1], "w");
    setvbuf(out, nullptr, _IOLBF, BUFSIZ);  // what is written before a crash is kept
    for (std::size_t i = first; i < specs.size(); ++i) {
      alarm(kMaxSeconds);
      fmt::print(out, "layer\n");
      ask(library, device, specs[i], out);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const std::size_t last = add_lines(text, first, tally);
  if (status != 0) {
    tally.wrong.push_back(fmt::format("{}: the process ended with {} behind '{}'",
                                      model::to_key(specs.at(last)).text,
                                      status,
                                      tally.last));
  }
  return status == 0 ? specs.size() : last + 1;
}

int run(const std::string& cudnn,
        const std::string& gpu,
        const std::string& dtype,
        const std::string& shard) {
  cuda::load_preview_driver(PLUMB_PREVIEW_DRIVER);
  const cuda::CudnnLibrary library({cudnn});
  const session::GpuProfile profile =
      session::read_gpu_profile(fmt::format("{}/gpus/{}.json", PLUMB_SUITES, gpu));
  const std::vector<model::LayerSpec> specs = list_convolutions(dtype, session::parse_shard(shard));
  Tally tally;
  for (std::size_t next = 0; next < specs.size();) {
    next = ask_some(library, profile.properties, specs, next, tally);
  }
  fmt::print("cuDNN {}, {}, {}, {}: {} layers, {} engines listed, {} plans made, {} refused\n",
             library.version_number(),
             gpu,
             dtype,
             shard,
             specs.size(),
             tally.listed,
             tally.made,
             tally.listed - tally.made);
  for (const auto& [what, count] : tally.refused) {
    fmt::print("  {} times {}\n", count, what);
  }
  for (const std::string& wrong : tally.wrong) {
    fmt::print("  {}\n", wrong);
  }
  return tally.wrong.empty() && tally.refused.empty() && tally.made > 0 ? 0 : 1;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: engine_plans_bench CUDNN GPU DTYPE SHARD\n");
    return 2;
  }
  try {
    return plumb::run(argv[1], argv[2], argv[3], argv[4]);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 70;
  }
}
