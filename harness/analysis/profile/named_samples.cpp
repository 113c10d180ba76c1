// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/named_samples.hpp"

#include <algorithm>
#include <cstdint>
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
    std::vector<Count>& counts = cells_[place->second].counts;
    if (counts.empty() || counts.back().block != block) {
      counts.push_back({block, 0});
    }
    ++counts.back().samples;
  }

  [[nodiscard]] std::vector<results::ProfileCell> take() && {
    for (results::ProfileCell& cell : cells_) {
      merge_blocks(cell.counts);
    }
    std::sort(cells_.begin(), cells_.end(), [](const auto& left, const auto& right) {
      return std::pair(left.step, left.function) < std::pair(right.step, right.function);
    });
    return std::move(cells_);
  }

 private:
  using Count = results::ProfileCell::Count;

  /// Sorts counts by block, with one for each.
  static void merge_blocks(std::vector<Count>& counts) {
    const auto before = [](const Count& left, const Count& right) {
      return left.block < right.block;
    };
    if (std::is_sorted(counts.begin(), counts.end(), before)) {
      return;  // as workers send them
    }
    std::sort(counts.begin(), counts.end(), before);
    std::vector<Count> merged;
    for (const Count& count : counts) {
      if (merged.empty() || merged.back().block != count.block) {
        merged.push_back(count);
      } else {
        merged.back().samples += count.samples;
      }
    }
    counts = std::move(merged);
  }

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
