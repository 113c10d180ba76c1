// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/plan/execution_plan.hpp"

#include <set>

namespace plumb::engine {

PlanBuffer::Uses mapped(const PlanBuffer::Uses& buffers, const std::vector<std::size_t>& map) {
  PlanBuffer::Uses result;
  for (const std::size_t buffer : buffers.reads) {
    result.reads.push_back(map.at(buffer));
  }
  for (const std::size_t buffer : buffers.writes) {
    result.writes.push_back(map.at(buffer));
  }
  return result;
}

StepNeeds step_needs(std::span<const PlanBuffer::Uses> steps) {
  std::map<std::size_t, std::size_t> writer;
  std::map<std::size_t, std::vector<std::size_t>> readers;  // since the buffer was written
  StepNeeds result;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::set<std::size_t> needs;
    const auto after_writer_of = [&](std::size_t buffer) {
      if (const auto found = writer.find(buffer); found != writer.end()) {
        needs.insert(found->second);
      }
    };
    for (const std::size_t read : steps[step].reads) {
      after_writer_of(read);
      readers[read].push_back(step);
    }
    for (const std::size_t written : steps[step].writes) {
      after_writer_of(written);
      needs.insert(readers[written].begin(), readers[written].end());
      readers[written].clear();
      writer[written] = step;
    }
    needs.erase(step);
    result.emplace_back(needs.begin(), needs.end());
  }
  return result;
}

std::map<std::size_t, std::vector<std::size_t>> buffer_users(
    std::span<const PlanBuffer::Uses> steps) {
  std::map<std::size_t, std::vector<std::size_t>> users;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (const auto* const buffers : {&steps[step].reads, &steps[step].writes}) {
      for (const std::size_t buffer : *buffers) {
        std::vector<std::size_t>& of = users[buffer];
        if (of.empty() || of.back() != step) {
          of.push_back(step);
        }
      }
    }
  }
  return users;
}

}  // namespace plumb::engine
