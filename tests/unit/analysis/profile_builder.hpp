// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/profile/merged_profile.hpp"

namespace plumb::analysis {

/// Builder of profiles, sample by sample.
class ProfileBuilder {
 public:
  /// Adds a block of `executions` that take `seconds` with and without samples.
  ProfileBuilder& block(double seconds = 0.05, std::uint32_t executions = 5) {
    samples_.blocks.push_back({executions, Seconds(seconds), Seconds(seconds)});
    return *this;
  }

  /// Adds samples of the last block, of a function of a step. Empty step: between steps.
  ProfileBuilder& samples(const std::string& step,
                          const results::NamedProfile::CodeNames::Function& function,
                          std::uint32_t count) {
    const std::uint32_t number = step.empty() ? results::kNoStep : number_of(step, steps_);
    const auto address = number_of(function, functions_);
    for (std::uint32_t i = 0; i < count; ++i) {
      samples_.samples.push_back(
          {address, number, static_cast<std::uint32_t>(samples_.blocks.size() - 1), 0});
    }
    return *this;
  }

  /// Adds samples of the last block that each call of `functions`, outermost first, led to.
  ProfileBuilder& called(const std::string& step,
                         const std::vector<results::NamedProfile::CodeNames::Function>& functions,
                         std::uint32_t count) {
    results::CallChain chain;
    for (std::size_t i = functions.size() - 1; i > 0; --i) {
      chain.push_back(number_of(functions[i - 1], functions_) + 1);
    }
    const std::size_t before = samples_.samples.size();
    samples(step, functions.back(), count);
    for (std::size_t i = before; i < samples_.samples.size(); ++i) {
      samples_.samples[i].chain = static_cast<std::uint32_t>(samples_.chains.size());
    }
    samples_.chains.push_back(chain);
    return *this;
  }

  [[nodiscard]] results::NamedProfile build(const std::string& model = "lenet, batch 1") const {
    results::SampledProfile samples = samples_;
    samples.clock = results::SampledProfile::Clock::kCpuClock;
    samples.asked_rate = 1000.0;
    samples.rate = 990.0;
    samples.steps.resize(steps_.size());
    results::NamedProfile::CodeNames names;
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
      names.functions.push_back(functions_[i]);
      names.addresses.emplace_back(i, i);
    }
    results::NamedProfile profile = name_samples(samples, std::move(names));
    profile.model = model;
    profile.mode = "fusion";
    profile.stack = "default";
    profile.step_names = steps_;
    return profile;
  }

 private:
  template <typename Name>
  static std::uint32_t number_of(const Name& name, std::vector<Name>& names) {
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) {
        return i;
      }
    }
    names.push_back(name);
    return static_cast<std::uint32_t>(names.size() - 1);
  }

  results::SampledProfile samples_;
  std::vector<std::string> steps_;
  std::vector<results::NamedProfile::CodeNames::Function> functions_;
};

/// Returns a profile of `blocks` equal blocks with some samples of each function in step "conv".
inline ProfileBuilder equal_blocks(
    std::size_t blocks, const std::vector<std::pair<std::string, std::uint32_t>>& functions) {
  ProfileBuilder builder;
  for (std::size_t i = 0; i < blocks; ++i) {
    builder.block();
    for (const auto& [name, count] : functions) {
      builder.samples("conv", {name, "generated"}, count);
    }
  }
  return builder;
}

}  // namespace plumb::analysis
