// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/stream_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace plumb::cuda {
namespace {

/// Returns, for each step, the earlier steps that it must follow, in ascending order. Those are the
/// steps that wrote what it reads, or that wrote or read what it writes.
std::vector<std::vector<std::size_t>> dependencies(std::span<const StepBuffers> steps) {
  std::map<std::size_t, std::size_t> writer;
  std::map<std::size_t, std::vector<std::size_t>> readers;
  std::vector<std::vector<std::size_t>> result(steps.size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::vector<std::size_t>& before = result[step];
    const auto after_writer_of = [&](std::size_t buffer) {
      if (const auto found = writer.find(buffer); found != writer.end()) {
        before.push_back(found->second);
      }
    };
    for (const std::size_t read : steps[step].reads) {
      after_writer_of(read);
      readers[read].push_back(step);
    }
    for (const std::size_t written : steps[step].writes) {
      after_writer_of(written);
      before.insert(before.end(), readers[written].begin(), readers[written].end());
      readers[written].clear();
      writer[written] = step;
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    std::erase(before, step);
  }
  return result;
}

}  // namespace

StreamPlan plan_streams(std::span<const StepBuffers> steps, std::size_t most) {
  const auto before = dependencies(steps);
  StreamPlan plan;
  plan.stream.resize(steps.size());
  plan.waits.resize(steps.size());
  std::vector<std::optional<std::size_t>> last;  // newest step of each stream
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::optional<std::size_t> chosen;
    // On the stream of its newest dependency, a step need not wait for that one by an event.
    for (auto earlier = before[step].rbegin(); earlier != before[step].rend() && !chosen;
         ++earlier) {
      if (last[plan.stream[*earlier]] == *earlier) {
        chosen = plan.stream[*earlier];
      }
    }
    if (!chosen && last.size() < std::max<std::size_t>(most, 1)) {
      chosen = last.size();
      last.emplace_back();
    }
    if (!chosen) {  // all in use: the one whose newest step is the oldest
      chosen = static_cast<std::size_t>(std::min_element(last.begin(), last.end()) - last.begin());
    }
    plan.stream[step] = *chosen;
    last[*chosen] = step;
    for (const std::size_t earlier : before[step]) {
      if (plan.stream[earlier] != *chosen) {
        plan.waits[step].push_back(earlier);
      }
    }
  }
  plan.streams = std::max<std::size_t>(last.size(), 1);
  return plan;
}

}  // namespace plumb::cuda
