// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/address_sampler.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "harness/base/error.hpp"
#include "runners/engine/profile/kernel_samples.hpp"
#include "runners/engine/profile/signalled_samples.hpp"

namespace plumb::engine {
namespace {

/// Lists the threads of this process, the calling one first.
std::vector<pid_t> list_threads() {
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  std::vector<pid_t> threads{self};
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0 && thread != self) {
      threads.push_back(thread);
    }
  }
  std::sort(threads.begin() + 1, threads.end());
  return threads;
}

}  // namespace

AddressSampler::AddressSampler(const SamplerOptions& options, worker::StepMark& step)
    : threads_(list_threads()) {
  PLUMB_CHECK(options.rate > 0.0);
  for (const results::SamplingClock clock : options.clocks) {
    try {
      source_ = clock == results::SamplingClock::kTimer || clock == results::SamplingClock::kThread
                    ? open_signalled_samples(clock, threads_, options, step)
                    : open_kernel_samples(clock, threads_, options, step);
      clock_ = clock;
      return;
    } catch (const Error& error) {
      refused_ += fmt::format("{}{}", refused_.empty() ? "" : "; ", error.what());
    }
  }
  throw Error(Error::Kind::kEnvironment,
              fmt::format("no clock can interrupt this process for samples: {}", refused_));
}

}  // namespace plumb::engine
