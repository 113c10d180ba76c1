// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/named_samples.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace plumb::analysis {
namespace {

/// Cells of the samples, in the order of their steps and functions.
class CellTable {
 public:
  void add(std::uint32_t step, std::uint32_t function, std::uint32_t block) {
    const auto [place, added] =
        numbers_.try_emplace((std::uint64_t{step} << 32U) | function, cells_.size());
    if (added) {
      cells_.push_back({step, function, {}});
    }
    results::add_samples(block, 1, cells_[place->second].counts);
  }

  [[nodiscard]] std::vector<results::ProfileCell> take() && {
    for (results::ProfileCell& cell : cells_) {
      results::order_blocks(cell.counts);
    }
    std::sort(cells_.begin(), cells_.end(), [](const auto& left, const auto& right) {
      return std::pair(left.step, left.function) < std::pair(right.step, right.function);
    });
    return std::move(cells_);
  }

 private:
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
  std::vector<results::ProfileCell> cells_;
};

std::vector<results::ProfileCell> count_samples(const results::SampledProfile& samples,
                                                const results::CodeNames& names) {
  const std::unordered_map<std::uint64_t, std::uint32_t> functions(names.addresses.begin(),
                                                                   names.addresses.end());
  CellTable cells;
  for (const results::AddressSample& sample : samples.samples) {
    cells.add(sample.step, functions.at(sample.address), sample.block);
  }
  return std::move(cells).take();
}

/// Returns the functions that a sample's calls led through, innermost first. The chain ends where
/// it leaves the code, because a function without a frame pointer had another number in its place.
std::vector<std::uint32_t> name_calls(const results::AddressSample& sample,
                                      const results::SampledProfile& samples,
                                      const results::CodeNames& names) {
  std::vector<std::uint32_t> functions{names.function_at(sample.address)};
  if (sample.chain == results::kNoChain) {
    return functions;
  }
  for (const std::uint64_t address : samples.chains.at(sample.chain)) {
    const std::uint32_t function = names.function_at(address - 1);
    if (names.functions.at(function).image == results::kUnmappedImage) {
      break;
    }
    functions.push_back(function);
  }
  return functions;
}

std::vector<results::ProfiledStack> count_stacks(const results::SampledProfile& samples,
                                                 const results::CodeNames& names) {
  std::map<std::tuple<std::uint32_t, std::vector<std::uint32_t>, std::uint32_t>, std::uint64_t>
      counts;
  for (const results::AddressSample& sample : samples.samples) {
    std::vector<std::uint32_t> functions = name_calls(sample, samples, names);
    std::reverse(functions.begin(), functions.end());
    ++counts[{sample.step, std::move(functions), sample.thread}];
  }
  std::vector<results::ProfiledStack> stacks;
  stacks.reserve(counts.size());
  for (const auto& [place, count] : counts) {
    const auto& [step, functions, thread] = place;
    stacks.push_back({step, functions, count, thread});
  }
  return stacks;
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
  const bool several_threads = std::any_of(samples.samples.begin(),
                                           samples.samples.end(),
                                           [](const auto& each) { return each.thread != 0; });
  if (!samples.chains.empty() || several_threads) {
    profile.stacks = count_stacks(samples, names);
  }
  profile.functions = std::move(names.functions);
  profile.problems = std::move(names.problems);
  return profile;
}

}  // namespace plumb::analysis
