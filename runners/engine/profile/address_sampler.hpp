// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/results/profile/sampled_profile.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::engine {

/// Options of an AddressSampler.
struct SamplerOptions {
  double rate = 1000.0;  ///< samples a second of each thread
  /// Clocks to try, best first.
  std::vector<results::SamplingClock> clocks{results::SamplingClock::kCycles,
                                             results::SamplingClock::kCpuClock,
                                             results::SamplingClock::kTimer};
  std::uint64_t seed = 1;            ///< of the periods, which are drawn within ±25 %
  std::size_t capacity = 1U << 17U;  ///< samples of a thread that wait to be taken
};

/// Sampler of where the threads of this process are, with the step that is executed then.
///
/// A signal (SIGPROF) interrupts each thread, and its handler writes the sample into the thread's
/// ring. Threads that start later are not sampled. There is at most one sampler at a time.
class AddressSampler {
 public:
  /// Attaches to all threads of the process, and reads `step` at each sample. The calling thread
  /// becomes thread 0. Throws Error{kEnvironment} with the reason of each clock if there is none.
  AddressSampler(const SamplerOptions& options, const worker::StepMark& step);
  ~AddressSampler();
  AddressSampler(const AddressSampler&) = delete;
  AddressSampler& operator=(const AddressSampler&) = delete;
  AddressSampler(AddressSampler&&) = delete;
  AddressSampler& operator=(AddressSampler&&) = delete;

  void start();
  void stop();
  /// Appends the samples since the last call, as samples of a block.
  void take(std::uint32_t block, std::vector<results::AddressSample>& samples);

  [[nodiscard]] results::SamplingClock clock() const { return clock_; }
  /// Returns why better clocks were refused. Empty: none was.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Thread;

  static void on_signal(int number, siginfo_t* signal, void* context);
  void add_sample(const siginfo_t& signal, std::uint64_t address) noexcept;
  void attach(const SamplerOptions& options);

  const worker::StepMark& step_;
  double period_;
  results::SamplingClock clock_ = results::SamplingClock::kTimer;
  std::string refused_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::atomic<bool> running_{false};
};

}  // namespace plumb::engine
