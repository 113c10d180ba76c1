// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/measure/sampler.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "harness/worker/protocol/step_mark.hpp"
#include "runners/engine/exec/ready_model.hpp"
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
  AddressSampler(const SampleSource::Options& options, worker::StepMark& step);

  void start() { source_->start(); }
  void stop() { source_->stop(); }
  /// Appends the samples between the last start and its stop to those of a profile, as samples of
  /// a block.
  void take(std::uint32_t block, results::SampledProfile& profile) {
    source_->take(block, profile);
  }

  [[nodiscard]] results::SampledProfile::Clock clock() const { return clock_; }
  /// Returns why better clocks were refused. Empty: none was.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  [[nodiscard]] std::uint64_t lost() const { return source_->lost(); }

 private:
  std::vector<pid_t> threads_;
  results::SampledProfile::Clock clock_ = results::SampledProfile::Clock::kTimer;
  std::string refused_;
  std::unique_ptr<SampleSource> source_;
};

/// Lists the parts of this process's memory that hold code, by address, with the build-ids of the
/// libraries that are loaded.
[[nodiscard]] std::vector<results::SampledProfile::Mapping> read_mapped_code();

/// Describes the steps of a prepared model for a profile.
[[nodiscard]] std::vector<results::SampledProfile::Step> describe_steps(const ReadyModel& ready);

/// Moves the jitdumps that a library wrote somewhere below a folder into it, and returns their
/// names. Copies this process's perf map, `/tmp/perf-PID.map`, where a library wrote one.
[[nodiscard]] std::vector<std::string> collect_code_files(const std::filesystem::path& folder);

/// Sets the rate that the executing thread of a profile had, in its blocks with samples.
void set_rate(results::SampledProfile& profile);

/// Sampler of the blocks of a model's executions whose time counts, of several modes in turns.
///
/// What the thread does between executions, such as waiting for a quiet host, has no samples.
class BlockSampler {
 public:
  /// Region that executes slot 0 of a program, and marks its steps for a sampler.
  class Region final : public measure::TimedRegion {
   public:
    /// Keeps references. A program whose steps are not `in_order` is executed as it is, without
    /// marks.
    Region(worker::Program& program,
           bool in_order,
           worker::StepMark& step,
           const measure::Clock& clock)
        : program_(program), in_order_(in_order), step_(step), clock_(clock) {}
    void run(std::size_t repetitions) override;

    /// Returns the executions so far, with the time that they took.
    [[nodiscard]] results::SampledProfile::Block executed() const { return executed_; }

   private:
    worker::Program& program_;
    bool in_order_;
    worker::StepMark& step_;
    const measure::Clock& clock_;
    results::SampledProfile::Block executed_;
  };

  /// Attaches to all threads of the process, as AddressSampler does.
  BlockSampler(const worker::ExecuteRequest::Sampling& wanted, std::uint64_t seed);

  /// Returns the region that a block executes.
  [[nodiscard]] Region region(worker::Program& program,
                              bool in_order,
                              const measure::Clock& clock) {
    return {program, in_order, step_, clock};
  }
  void begin();
  /// Ends a block, and adds it and its samples to a profile.
  void end(const Region& region, results::SampledProfile& profile);
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
