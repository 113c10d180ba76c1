// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/block_sampler.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>

#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/profile/address_sampler.hpp"

namespace plumb::engine {
namespace {

/// Copies this process's perf map. Returns whether it has one. Another user may have made a file of
/// that name, or a link to one: neither is read.
bool copy_perf_map(const std::filesystem::path& copy) {
  const std::string name = fmt::format("/tmp/perf-{}.map", ::getpid());
  const int file = ::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return false;
  }
  struct stat facts {};
  const bool own =
      ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid();
  std::error_code fault;
  const bool copied =
      own && std::filesystem::copy_file(fmt::format("/proc/self/fd/{}", file),
                                        copy,
                                        std::filesystem::copy_options::overwrite_existing,
                                        fault);
  ::close(file);
  return copied;
}

}  // namespace

std::vector<results::ProfiledStep> describe_steps(const ReadyModel& ready) {
  std::vector<results::ProfiledStep> steps;
  for (const worker::StepOrigin& origin : ready.prepared.steps) {
    results::ProfiledStep step;
    step.reorder = origin.reorder;
    if (origin.layer) {
      step.layers = ready.plan.fused.origins.at(*origin.layer);
      step.key = ready.plan.fused.graph.layers.at(*origin.layer).key.text;
      step.variant = ready.prepared.variants.at(*origin.layer);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<std::string> collect_code_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".dump" && entry.is_regular_file(ignored) &&
        found.size() + 1 < worker::kMaxCodeFiles) {
      found.push_back(entry.path());
    }
  }
  std::vector<std::string> names;
  for (const std::filesystem::path& file : found) {
    const std::string name = fmt::format("code-{}.dump", names.size());
    std::error_code fault;
    std::filesystem::rename(file, folder / name, fault);
    if (!fault) {
      names.push_back(name);
    }
  }
  if (copy_perf_map(folder / "perf.map")) {
    names.emplace_back("perf.map");
  }
  return names;
}

void set_rate(results::SampledProfile& profile) {
  Seconds sampled{};
  for (const results::ProfiledBlock& block : profile.blocks) {
    sampled += block.sampled;
  }
  const auto of_first = std::count_if(profile.samples.begin(),
                                      profile.samples.end(),
                                      [](const auto& sample) { return sample.thread == 0; });
  profile.rate = sampled > Seconds(0.0) ? static_cast<double>(of_first) / sampled.count() : 0.0;
}

namespace {

/// Number that stands for what the thread does between executions.
constexpr std::uint32_t kBetweenExecutions = results::kNoStep - 1;

SamplerOptions options_for(const worker::SampledBlocks& wanted, std::uint64_t seed) {
  SamplerOptions options;
  options.rate = wanted.rate;
  options.seed = seed;
  return options;
}

}  // namespace

void MarkedRegion::run(std::size_t repetitions) {
  const Seconds begin = clock_();
  step_.begin(results::kNoStep);
  for (std::size_t i = 0; i < repetitions; ++i) {
    if (in_order_) {
      program_.execute_marked(0, step_);
    } else {
      program_.enqueue(0);
    }
  }
  if (!in_order_) {
    program_.synchronize();
  }
  step_.begin(kBetweenExecutions);
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  executed_.executions =
      static_cast<std::uint32_t>(std::min<std::size_t>(executed_.executions + repetitions, kMost));
  executed_.sampled += clock_() - begin;
}

BlockSampler::BlockSampler(const worker::SampledBlocks& wanted, std::uint64_t seed)
    : rate_(wanted.rate), sampler_(options_for(wanted, seed), step_) {}

void BlockSampler::begin() {
  if (running_) {
    sampler_.stop();  // the block before it failed
  }
  step_.begin(kBetweenExecutions);
  sampler_.start();
  running_ = true;
}

void BlockSampler::end(const MarkedRegion& region, results::SampledProfile& profile) {
  sampler_.stop();
  running_ = false;
  const auto number = static_cast<std::uint32_t>(profile.blocks.size());
  const std::size_t before = profile.samples.size();
  sampler_.take(number, profile);
  const bool has_room = number < worker::kMaxProfileBlocks &&
                        profile.samples.size() <= worker::kMaxProfileSamples &&
                        region.executed().executions > 0;
  const auto first = profile.samples.begin() + static_cast<std::ptrdiff_t>(before);
  profile.samples.erase(std::remove_if(first,
                                       profile.samples.end(),
                                       [&](const results::AddressSample& sample) {
                                         return !has_room || sample.step == kBetweenExecutions;
                                       }),
                        profile.samples.end());
  if (has_room) {
    profile.blocks.push_back(region.executed());
  }
  profile.lost += sampler_.lost() - lost_;
  lost_ = sampler_.lost();
}

bool BlockSampler::complete(const ReadyModel& ready, results::SampledProfile& profile) const {
  if (profile.blocks.empty()) {
    return false;
  }
  profile.asked_rate = rate_;
  profile.clock = sampler_.clock();
  profile.refused = sampler_.refused();
  profile.threads = sampler_.threads();
  profile.steps = describe_steps(ready);
  profile.mappings = read_mapped_code();
  set_rate(profile);
  return true;
}

std::string BlockSampler::text() const {
  return fmt::format("{:.0f} Hz by {}", rate_, results::to_text(sampler_.clock()));
}

}  // namespace plumb::engine
