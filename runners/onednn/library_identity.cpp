// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/library_identity.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

#include "harness/base/digest.hpp"
#include "runners/engine/exec/mapped_file.hpp"
#include "runners/onednn/exec/instruction_set.hpp"

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

}  // namespace plumb::onednn
