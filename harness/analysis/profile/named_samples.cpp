// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/named_samples.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace plumb::analysis {
namespace {

using Counts = std::vector<results::ProfileCell::Count>;

/// Adds a sample. Samples of one block mostly follow each other.
void add_sample(std::uint32_t block, Counts& counts) {
  if (counts.empty() || counts.back().block != block) {
    counts.push_back({block, 0});
  }
  ++counts.back().samples;
}

/// Brings counts into the order of their blocks, each block once.
void merge_blocks(Counts& counts) {
  std::stable_sort(counts.begin(), counts.end(), [](const auto& left, const auto& right) {
    return left.block < right.block;
  });
  std::size_t last = 0;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i].block == counts[last].block) {
      counts[last].samples += counts[i].samples;
    } else {
      counts[++last] = counts[i];
    }
  }
  counts.resize(counts.empty() ? 0 : last + 1);
}

std::vector<results::ProfileCell> count_samples(const results::SampledProfile& samples,
                                                const results::CodeNames& names) {
  std::vector<results::ProfileCell> cells;
  std::unordered_map<std::uint64_t, std::size_t> places;  // by step and function
  for (const results::AddressSample& sample : samples.samples) {
    const std::uint32_t function = names.function_at(sample.address);
    const auto [place, added] =
        places.try_emplace(std::uint64_t{sample.step} << 32U | function, cells.size());
    if (added) {
      cells.push_back({sample.step, function, {}});
    }
    add_sample(sample.block, cells[place->second].counts);
  }
  std::sort(cells.begin(), cells.end(), [](const auto& left, const auto& right) {
    return std::tie(left.step, left.function) < std::tie(right.step, right.function);
  });
  for (results::ProfileCell& cell : cells) {
    merge_blocks(cell.counts);
  }
  return cells;
}

}  // namespace

results::NamedProfile name_samples(const results::SampledProfile& samples,
                                   results::CodeNames names) {
  results::NamedProfile profile;
  profile.clock = samples.clock;
  profile.refused = samples.refused;
  profile.asked_rate = samples.asked_rate;
  profile.rate = samples.rate;
  profile.threads = samples.threads;
  profile.lost = samples.lost;
  profile.steps = samples.steps;
  profile.step_names.resize(samples.steps.size());
  profile.blocks = samples.blocks;
  profile.cells = count_samples(samples, names);
  profile.functions = std::move(names.functions);
  profile.problems = std::move(names.problems);
  return profile;
}

}  // namespace plumb::analysis
