// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/results/profile/sampled_profile.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/profile/address_sampler.hpp"

namespace plumb::engine {

/// Describes the steps of a prepared model for a profile.
[[nodiscard]] std::vector<results::ProfiledStep> describe_steps(const ReadyModel& ready);

/// Moves the jitdumps that a library wrote somewhere below a folder into it, and returns their
/// names. Copies this process's perf map, `/tmp/perf-PID.map`, where a library wrote one.
[[nodiscard]] std::vector<std::string> collect_code_files(const std::filesystem::path& folder);

/// Sets the rate that the executing thread of a profile had, in its blocks with samples.
void set_rate(results::SampledProfile& profile);

/// Region that executes slot 0 of a program, and marks its steps for a sampler.
class MarkedRegion final : public measure::TimedRegion {
 public:
  /// Keeps references. A program whose steps are not `in_order` is executed as it is, without
  /// marks.
  MarkedRegion(worker::Program& program,
               bool in_order,
               worker::StepMark& step,
               const measure::Clock& clock)
      : program_(program), in_order_(in_order), step_(step), clock_(clock) {}
  void run(std::size_t repetitions) override;

  /// Returns the executions so far, with the time that they took.
  [[nodiscard]] results::ProfiledBlock executed() const { return executed_; }

 private:
  worker::Program& program_;
  bool in_order_;
  worker::StepMark& step_;
  const measure::Clock& clock_;
  results::ProfiledBlock executed_;
};

/// Sampler of the blocks of a model's executions whose time counts, of several modes in turns.
///
/// What the thread does between executions, such as waiting for a quiet host, has no samples.
class BlockSampler {
 public:
  /// Attaches to all threads of the process, as AddressSampler does.
  BlockSampler(const worker::SampledBlocks& wanted, std::uint64_t seed);

  /// Returns the region that a block executes.
  [[nodiscard]] MarkedRegion region(worker::Program& program,
                                    bool in_order,
                                    const measure::Clock& clock) {
    return {program, in_order, step_, clock};
  }
  void begin();
  /// Ends a block, and adds it and its samples to a profile.
  void end(const MarkedRegion& region, results::SampledProfile& profile);
  /// Completes the profile of a program, whose code is still there. Returns false if it has no
  /// block.
  [[nodiscard]] bool complete(const ReadyModel& ready, results::SampledProfile& profile) const;
  /// Returns how blocks are sampled: "1000 Hz by cpu-clock".
  [[nodiscard]] std::string text() const;

 private:
  double rate_;
  worker::StepMark step_;
  AddressSampler sampler_;
  bool running_ = false;
  std::uint64_t lost_ = 0;  ///< samples before this block for which there was no room
};

}  // namespace plumb::engine
