// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/address_sampler.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/profile/sample_source.hpp"

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

AddressSampler::AddressSampler(const SampleSource::Options& options, worker::StepMark& step)
    : threads_(list_threads()) {
  PLUMB_CHECK(options.rate > 0.0);
  for (const results::SampledProfile::Clock clock : options.clocks) {
    try {
      source_ = clock == results::SampledProfile::Clock::kTimer ||
                        clock == results::SampledProfile::Clock::kThread
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

namespace {

/// Build-ids of loaded objects, by the addresses where their code begins.
using BuildIds = std::map<std::uint64_t, std::string>;

int add_object(dl_phdr_info* object, std::size_t /*size*/, void* build_ids) {
  const std::string build_id = read_build_id(*object);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
      (*static_cast<BuildIds*>(build_ids))[object->dlpi_addr + header.p_vaddr] = build_id;
    }
  }
  return 0;
}

}  // namespace

std::vector<results::SampledProfile::Mapping> read_mapped_code() {
  BuildIds build_ids;
  ::dl_iterate_phdr(add_object, &build_ids);
  std::ifstream maps("/proc/self/maps");
  std::vector<results::SampledProfile::Mapping> mappings = parse_mapped_code(maps);
  for (results::SampledProfile::Mapping& mapping : mappings) {
    // The code of an object may begin after the page that its mapping begins with.
    const auto object = build_ids.lower_bound(mapping.begin);
    if (object != build_ids.end() && object->first < mapping.end) {
      mapping.build_id = object->second;
    }
  }
  return mappings;
}

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

std::vector<results::SampledProfile::Step> describe_steps(const ReadyModel& ready) {
  std::vector<results::SampledProfile::Step> steps;
  for (const worker::Backend::PreparedModel::Step& origin : ready.prepared.steps) {
    results::SampledProfile::Step step;
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
  for (const results::SampledProfile::Block& block : profile.blocks) {
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

SampleSource::Options options_for(const worker::ExecuteRequest::Sampling& wanted,
                                  std::uint64_t seed) {
  SampleSource::Options options;
  options.rate = wanted.rate;
  options.seed = seed;
  return options;
}

}  // namespace

void BlockSampler::Region::run(std::size_t repetitions) {
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

BlockSampler::BlockSampler(const worker::ExecuteRequest::Sampling& wanted, std::uint64_t seed)
    : rate_(wanted.rate), sampler_(options_for(wanted, seed), step_) {}

void BlockSampler::begin() {
  if (running_) {
    sampler_.stop();  // the block before it failed
  }
  step_.begin(kBetweenExecutions);
  sampler_.start();
  running_ = true;
}

void BlockSampler::end(const BlockSampler::Region& region, results::SampledProfile& profile) {
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
                                       [&](const results::SampledProfile::Sample& sample) {
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
