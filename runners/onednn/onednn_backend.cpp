// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/onednn_backend.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <random>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/exec/model_planner.hpp"
#include "runners/onednn/exec/plan_program.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/reproducer/reproduce.hpp"

namespace plumb::onednn {
namespace {

std::string runtime_text(unsigned runtime) {
  switch (runtime) {
    case DNNL_RUNTIME_SEQ:
      return "SEQ";
    case DNNL_RUNTIME_OMP:
      return "OMP";
    case DNNL_RUNTIME_TBB:
      return "TBB";
    case DNNL_RUNTIME_THREADPOOL:
      return "THREADPOOL";
    case DNNL_RUNTIME_DPCPP:
      return "DPCPP";
    default:
      return fmt::format("{:#x}", runtime);
  }
}

void add_openmp(results::Facts& facts) {
  using ThreadCount = int (*)();
  void* const symbol = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
  if (symbol == nullptr) {
    return;
  }
  facts["openmp.threads"] = std::to_string(reinterpret_cast<ThreadCount>(symbol)());
  const std::filesystem::path path = engine::mapped_file(symbol);
  if (!path.empty()) {
    facts["openmp.path"] = path.string();
    facts["openmp.sha256"] = sha256_of_file(path);
  }
}

}  // namespace

results::Environment describe_library() {
  const dnnl_version_t& version = *dnnl_version();
  // dlsym() returns the function in the library itself, wherever a caller's stub for it may lie.
  const void* const inside = dlsym(RTLD_DEFAULT, "dnnl_version");
  const std::string number = fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
  const std::filesystem::path path = engine::mapped_file(inside);
  const std::string digest = path.empty() ? "unknown" : sha256_of_file(path);

  results::Environment environment;
  environment.identity["backend"] = "onednn";
  environment.identity["library"] = fmt::format("onednn-{}-{}", number, digest.substr(0, 16));
  environment.identity["library.runtime"] = runtime_text(version.cpu_runtime);
  environment.identity["library.isa"] =
      instruction_set_text(static_cast<unsigned>(dnnl_get_effective_cpu_isa()));
  if (const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA")) {
    environment.identity["ONEDNN_MAX_CPU_ISA"] = limit;
  }
  environment.facts["library.version"] = number;
  environment.facts["library.commit"] = version.hash != nullptr ? version.hash : "";
  environment.facts["library.path"] = path.string();
  environment.facts["library.sha256"] = digest;
  environment.facts["library.build_id"] = engine::build_id(inside);
  environment.facts["library.headers"] =
      fmt::format("{}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
  environment.facts["backend.sha256"] =
      sha256_of_file(engine::mapped_file(reinterpret_cast<const void*>(&describe_library)));
  add_openmp(environment.facts);
  return environment;
}

namespace {

/// Runs `attempt` and turns every refusal of the library into an outcome.
template <typename Attempt>
results::Outcome outcome_of(Attempt attempt) {
  try {
    attempt();
    return {};
  } catch (const Unsupported& refusal) {
    return {results::Outcome::Kind::kUnsupported, refusal.what()};
  } catch (const std::bad_alloc&) {
    return {results::Outcome::Kind::kOutOfMemory, "the layer's operands do not fit into memory"};
  } catch (const dnnl::error& error) {
    const bool memory = error.status == dnnl_out_of_memory;
    return {memory ? results::Outcome::Kind::kOutOfMemory : results::Outcome::Kind::kUnsupported,
            fmt::format("oneDNN: {} ({})", status_text(error.status), error.what())};
  }
}

void check_memory(const ExecutionPlan& plan) {
  if (memory_needed(plan) > physical_memory()) {
    throw std::bad_alloc();
  }
}

/// Describes a model to its program as if it were one layer.
model::LayerSpec interface_of(const model::Graph& graph) {
  model::LayerSpec spec;
  spec.op = "model";
  for (const model::ValueId output : graph.outputs) {
    spec.outputs.push_back(graph.values[output].type);
  }
  return spec;
}

class OnednnBackend : public worker::Backend {
 public:
  OnednnBackend() : device_{dnnl::engine(dnnl::engine::kind::cpu, 0)} {
    dnnl::set_primitive_cache_capacity(0);
  }

  [[nodiscard]] results::Environment describe() const override { return describe_library(); }

  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override {
    return outcome_of([&] { static_cast<void>(builders(key, model::parse_key(key))); });
  }

  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    const model::LayerSpec spec = model::parse_key(key);
    std::vector<worker::Variant> variants;
    static_cast<void>(outcome_of([&] {
      const VariantBuilder::List& list = builders(key, spec);
      for (const VariantBuilder& builder : list.builders()) {
        // For recurrent layers "ref" is the library's general implementation, made of its fast
        // products.
        variants.push_back({builder.text(),
                            variants.empty(),
                            builder.is_reference() && !model::is_recurrent(spec),
                            builder.has_channels_last()});
      }
    }));
    return variants;
  }

  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override {
    const model::LayerSpec spec = model::parse_key(key);
    worker::Backend::Prepared prepared;
    prepared.outcome = outcome_of([&] {
      const auto prepare_program = [&](const VariantBuilder& builder) {
        ExecutionPlan plan = builder.build();
        check_memory(plan);
        prepared.program =
            std::make_unique<PlanProgram>(device_, spec, std::move(plan), placement());
      };
      if (const auto divided = divided_builder(spec, variant, device_)) {
        prepare_program(*divided);
        return;
      }
      const VariantBuilder::List& list = builders(key, spec);
      for (const VariantBuilder& builder : list.builders()) {
        if (builder.text() == variant) {
          prepare_program(builder);
          return;
        }
      }
      throw Unsupported(
          fmt::format("this library has no variant '{}' of the key; its first is '{}'",
                      variant,
                      list.builders().front().text()));
    });
    return prepared;
  }

  void partition_threads(std::size_t lanes) override {
    if (threads_) {
      share_ = std::max(1, *threads_ / static_cast<int>(lanes));
      set_openmp_threads(share_);
      parts_.emplace(make_layer_parts(device_));
    }
  }

  void enter_lane(std::size_t lane) override {
    if (threads_) {
      set_openmp_threads(share_);
      move_to_places(static_cast<int>(lane) * share_, share_);
    }
  }

  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override {
    worker::Backend::PreparedModel prepared;
    std::optional<results::Outcome> too_large;
    prepared.outcome = outcome_of([&] {
      if (options.launches) {
        throw Unsupported(
            fmt::format("a CPU has no launches, so there is no mode {}: use plain, or "
                        "parallel_branches for branches side by side",
                        worker::to_text(*options.launches)));
      }
      ModelPlan model = options.parallel_branches
                            ? plan_branches(graph, options.variants, device_)
                            : plan_model(graph, options.variants, device_, *parts_);
      parts_->release_builders();
      prepared.memory = memory_needed(model.plan);
      if (prepared.memory > physical_memory()) {
        too_large = {results::Outcome::Kind::kOutOfMemory,
                     fmt::format("the model needs {} bytes of memory, and the machine has {}",
                                 prepared.memory.value,
                                 physical_memory().value)};
        return;
      }
      prepared.operands = std::move(model.operands);
      prepared.reorders = model.reorders;
      prepared.reordered = model.reordered;
      prepared.steps = std::move(model.origins);
      prepared.needs = model.plan.schedule.needs();
      prepared.variants = std::move(model.variants);
      prepared.program = std::make_unique<PlanProgram>(
          device_, interface_of(graph), std::move(model.plan), placement());
    });
    if (too_large) {
      prepared.outcome = *too_large;
    }
    return prepared;
  }

  bool dump_generated_code(const std::filesystem::path& folder) override {
    return dnnl_set_jit_profiling_jitdumpdir(folder.c_str()) == dnnl_success &&
           dnnl_set_jit_profiling_flags(DNNL_JIT_PROFILE_LINUX_JITDUMP) == dnnl_success;
  }

  [[nodiscard]] worker::Reproducer reproduce(const worker::Reproducer::Request& request) override {
    worker::Reproducer reproducer;
    const results::Outcome outcome = outcome_of([&] {
      reproducer =
          onednn::reproduce(request, builders(request.key, model::parse_key(request.key)), device_);
    });
    if (!outcome.ok()) {
      throw Error(Error::Kind::kUser,
                  fmt::format("there is nothing to reproduce: {}", outcome.reason));
    }
    return reproducer;
  }

 private:
  /// Lists a layer's variants. The last layer's list is kept, because listing takes milliseconds
  /// and is needed once for each variant.
  const VariantBuilder::List& builders(const model::LayerKey& key,
                                       const model::LayerSpec& spec) const {
    if (!listed_ || !(*listed_ == key)) {
      listed_.reset();
      builders_ = collect_builders(spec, device_);
      listed_ = key;
    }
    return builders_;
  }

  /// Draws the seed of a program's placement, which differs in every process.
  [[nodiscard]] std::uint64_t placement() { return placements_.bits(drawn_++); }

  Device device_;
  engine::RandomStream placements_{std::random_device{}()};
  std::uint64_t drawn_ = 0;
  std::optional<int> threads_ = openmp_threads();               // absent: not OpenMP's
  int share_ = threads_.value_or(1);                            // number of threads of each lane
  std::optional<LayerParts> parts_{make_layer_parts(device_)};  // of the models prepared so far
  mutable std::optional<model::LayerKey> listed_;               // the key of `builders_`
  mutable VariantBuilder::List builders_;
};

}  // namespace

std::unique_ptr<worker::Backend> make_onednn_backend() {
  try {
    return std::make_unique<OnednnBackend>();
  } catch (const dnnl::error& error) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format(
            "oneDNN cannot use the CPU of this machine: {} (a build for SYCL needs the OpenCL CPU "
            "runtime, package intel-opencl-rt)",
            error.what()));
  }
}

}  // namespace plumb::onednn
