// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/profiled_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "harness/worker/protocol/profile_request.hpp"

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

}  // namespace plumb::engine
