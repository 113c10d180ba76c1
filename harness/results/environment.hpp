// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace plumb::results {

/// Facts by name, in order of name.
using Facts = std::map<std::string, std::string>;

/// Environment of a run. Two runs belong to one environment exactly if `identity` is equal. It is
/// short, documented (docs/reference/store.md) and hashed. `facts` has everything else, which is
/// shown in diffs and never hashed.
struct Environment {
  Facts identity;  ///< cpu.model, cpu.count, memory, virtualisation, stack (hash), driver, threads,
                   ///< method
  Facts facts;     ///< kernel, microcode, governor, load, library versions, paths and hashes,
                   ///< compiler, our commit…

  /// Returns the first 16 hex digits of the SHA-256 of the identity, written as "name=value\n"
  /// lines.
  [[nodiscard]] std::string id() const;
};

/// Returns the text of a fact. Empty: it is absent.
[[nodiscard]] inline std::string fact_of(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

/// Returns the number of threads in an environment's identity, or 1 without one.
[[nodiscard]] int threads_of(const Environment& environment);

/// Returns whether a part of an environment's identity is a variable that the stack sets, such as
/// "ONEDNN_MAX_CPU_ISA". These are named in capitals, and no other part is.
[[nodiscard]] inline bool is_variable(std::string_view fact) {
  constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !fact.empty() && fact.find_first_not_of(kCapitals) == std::string_view::npos;
}

/// Returns whether a part of an environment's identity belongs to the stack: the library
/// ("library", "library.isa") and the stack's variables.
[[nodiscard]] inline bool is_of_stack(std::string_view fact) {
  return is_variable(fact) || fact == "library" || fact.starts_with("library.");
}

/// Returns whether the environment is of a GPU, not of a processor.
[[nodiscard]] inline bool is_gpu(const Environment& environment) {
  // The CUDA worker says "gpu", imported results of NVBench say "gpu.model".
  return environment.identity.contains("gpu") || environment.identity.contains("gpu.model");
}

/// Returns the model name of the device that was measured: the GPU's, or else the processor's. It
/// is as the system gives it. Empty: unknown.
[[nodiscard]] inline std::string device_model(const Environment& environment) {
  for (const char* const name : {"gpu", "gpu.model", "cpu.model"}) {
    if (const auto found = environment.identity.find(name); found != environment.identity.end()) {
      return found->second;
    }
  }
  return {};
}

}  // namespace plumb::results
