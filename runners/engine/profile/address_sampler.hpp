// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/results/profile/sampled_profile.hpp"
#include "harness/worker/protocol/step_mark.hpp"
#include "runners/engine/profile/sample_source.hpp"

namespace plumb::engine {

/// Sampler of where the threads of this process are, with the step that is executed then.
///
/// Threads that start later are not sampled. There is at most one sampler at a time.
class AddressSampler {
 public:
  /// Attaches to all threads of the process, by the first clock that the machine has. The calling
  /// thread becomes thread 0, and executes the steps. Throws Error{kEnvironment} with the reason of
  /// each clock if there is none.
  AddressSampler(const SamplerOptions& options, worker::StepMark& step);

  void start() { source_->start(); }
  void stop() { source_->stop(); }
  /// Appends the samples between the last start and its stop to those of a profile, as samples of
  /// a block.
  void take(std::uint32_t block, results::SampledProfile& profile) {
    source_->take(block, profile);
  }

  [[nodiscard]] results::SamplingClock clock() const { return clock_; }
  /// Returns why better clocks were refused. Empty: none was.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  [[nodiscard]] std::uint64_t lost() const { return source_->lost(); }

 private:
  std::vector<pid_t> threads_;
  results::SamplingClock clock_ = results::SamplingClock::kTimer;
  std::string refused_;
  std::unique_ptr<SampleSource> source_;
};

/// Lists the parts of this process's memory that hold code, by address, with the build-ids of the
/// libraries that are loaded.
[[nodiscard]] std::vector<results::CodeMapping> read_mapped_code();

}  // namespace plumb::engine
