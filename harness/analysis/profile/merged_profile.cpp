// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/merged_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

bool are_equal(const results::SampledProfile::Step& left,
               const results::SampledProfile::Step& right) {
  return left.layers == right.layers && left.key == right.key && left.variant == right.variant &&
         left.reorder == right.reorder;
}

Seconds sampled_time(const results::NamedProfile& profile) {
  Seconds sum{};
  for (const results::SampledProfile::Block& block : profile.blocks) {
    sum += block.sampled;
  }
  return sum;
}

/// Returns the number of each of another profile's steps. New steps are added.
std::vector<std::uint32_t> merge_steps(const results::NamedProfile& more,
                                       results::NamedProfile& profile) {
  std::vector<std::uint32_t> numbers;
  const std::size_t before = profile.steps.size();
  for (std::size_t i = 0; i < more.steps.size(); ++i) {
    // A program has several steps of one key: the one at the same place is tried first.
    std::size_t place = i < before && are_equal(profile.steps[i], more.steps[i]) ? i : before;
    for (std::size_t each = 0; place == before && each < before; ++each) {
      place = are_equal(profile.steps[each], more.steps[i]) ? each : place;
    }
    if (place == before) {
      place = profile.steps.size();
      profile.steps.push_back(more.steps[i]);
      profile.step_names.push_back(more.step_names[i]);
    }
    numbers.push_back(static_cast<std::uint32_t>(place));
  }
  return numbers;
}

std::vector<std::uint32_t> merge_functions(const results::NamedProfile& more,
                                           results::NamedProfile& profile) {
  std::map<results::NamedProfile::CodeNames::Function, std::uint32_t> known;
  for (std::uint32_t i = 0; i < profile.functions.size(); ++i) {
    known.emplace(profile.functions[i], i);
  }
  std::vector<std::uint32_t> numbers;
  for (const results::NamedProfile::CodeNames::Function& function : more.functions) {
    const auto [number, added] =
        known.try_emplace(function, static_cast<std::uint32_t>(profile.functions.size()));
    if (added) {
      profile.functions.push_back(function);
    }
    numbers.push_back(number->second);
  }
  return numbers;
}

std::uint64_t count_all(const results::NamedProfile& profile) {
  std::uint64_t sum = 0;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    sum += results::count_samples(cell.counts);
  }
  return sum;
}

std::string_view mnemonic(const results::NamedProfile::Listing::Instruction& instruction) {
  return std::string_view(instruction.text).substr(0, instruction.text.find(' '));
}

/// Returns the instructions of both listings, each with its number in the other one. Absent: they
/// are of different code. Processes have code at other addresses, of which some are in the texts.
std::optional<std::vector<std::pair<std::size_t, std::size_t>>> match_instructions(
    const results::NamedProfile::Listing& left, const results::NamedProfile::Listing& right) {
  if (left.bytes != right.bytes || left.disassembled != right.disassembled) {
    return std::nullopt;
  }
  std::vector<std::pair<std::size_t, std::size_t>> matches;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.instructions.size() && j < right.instructions.size()) {
    const results::NamedProfile::Listing::Instruction& one = left.instructions[i];
    const results::NamedProfile::Listing::Instruction& other = right.instructions[j];
    const bool at_one_place = one.offset == other.offset;
    const bool overlap =
        one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
    if (overlap &&
        !(at_one_place && one.bytes == other.bytes && mnemonic(one) == mnemonic(other))) {
      return std::nullopt;
    }
    if (at_one_place) {
      matches.emplace_back(i, j);
    }
    i += one.offset <= other.offset ? 1U : 0U;
    j += other.offset <= one.offset ? 1U : 0U;
  }
  const bool empty = left.instructions.empty() && right.instructions.empty();
  return matches.empty() && !empty ? std::nullopt : std::optional(std::move(matches));
}

/// Adds samples with their counts, which are known only if both are.
void add_counts(std::uint64_t more_samples,
                const results::BlockCounts& more,
                std::uint32_t first_block,
                std::uint64_t& samples,
                results::BlockCounts& counts) {
  const bool known = more.empty() == (more_samples == 0) && counts.empty() == (samples == 0);
  samples += more_samples;
  if (known) {
    results::append_blocks(more, first_block, counts);
  } else {
    counts.clear();
  }
}

/// Raises the blocks of a listing that begins with another profile's.
results::NamedProfile::Listing raise_blocks(results::NamedProfile::Listing listing,
                                            std::uint32_t first_block) {
  const auto raise = [&](results::BlockCounts& counts) {
    for (results::SampledProfile::BlockCount& count : counts) {
      count.block += first_block;
    }
  };
  raise(listing.counts);
  for (results::NamedProfile::Listing::Instruction& instruction : listing.instructions) {
    raise(instruction.counts);
  }
  return listing;
}

/// Adds a listing of the same code. Those instructions stay that both have: a listing that a run
/// keeps lacks those with few samples.
void merge_listing(const results::NamedProfile::Listing& more,
                   const std::vector<std::pair<std::size_t, std::size_t>>& matches,
                   std::uint32_t first_block,
                   results::NamedProfile::Listing& listing) {
  add_counts(more.samples, more.counts, first_block, listing.samples, listing.counts);
  std::vector<results::NamedProfile::Listing::Instruction> kept;
  for (const auto& [mine, other] : matches) {
    results::NamedProfile::Listing::Instruction& sum =
        kept.emplace_back(std::move(listing.instructions[mine]));
    const results::NamedProfile::Listing::Instruction& added = more.instructions[other];
    add_counts(added.samples, added.counts, first_block, sum.samples, sum.counts);
  }
  listing.instructions = std::move(kept);
  listing.alike = std::max(listing.alike, more.alike);
}

/// Adds the samples of listings of equal code. Of two codes of one name, the hotter one stays.
void merge_listings(const results::NamedProfile& more,
                    std::uint32_t first_block,
                    results::NamedProfile& profile) {
  std::vector<results::NamedProfile::Listing>& known = profile.listings;
  for (const results::NamedProfile::Listing& listing : more.listings) {
    const auto place = std::find_if(known.begin(), known.end(), [&](const auto& each) {
      return each.function == listing.function;
    });
    if (place == known.end()) {
      known.push_back(raise_blocks(listing, first_block));
    } else if (const auto matches = match_instructions(*place, listing)) {
      merge_listing(listing, *matches, first_block, *place);
    } else {
      const std::size_t alike = std::max<std::size_t>({place->alike, listing.alike, 1});
      if (place->samples < listing.samples) {
        *place = raise_blocks(listing, first_block);
      }
      place->alike = alike;
    }
  }
  std::stable_sort(known.begin(), known.end(), [](const auto& left, const auto& right) {
    return left.samples > right.samples;
  });
  known.resize(std::min(known.size(), results::kMaxListings));
  const std::uint64_t samples = count_all(profile);
  for (results::NamedProfile::Listing& listing : known) {
    listing.of_profile = samples;
  }
}

/// Adds the stacks of another profile, whose steps and functions have new numbers. They are of all
/// samples, so none stay if one of the profiles has none.
void merge_stacks(const results::NamedProfile& more,
                  const std::vector<std::uint32_t>& steps,
                  const std::vector<std::uint32_t>& functions,
                  results::NamedProfile& profile) {
  if (more.stacks.empty() || profile.stacks.empty()) {
    profile.stacks.clear();
    return;
  }
  for (results::NamedProfile::Stack stack : more.stacks) {
    stack.step = stack.step == results::kNoStep ? results::kNoStep : steps.at(stack.step);
    for (std::uint32_t& function : stack.functions) {
      function = functions.at(function);
    }
    profile.stacks.push_back(std::move(stack));
  }
}

/// Returns the blocks of each process. Where they are not told apart, they count as one.
std::vector<std::uint64_t> list_processes(const results::NamedProfile& profile) {
  if (!profile.processes.empty() || profile.blocks.empty()) {
    return profile.processes;
  }
  return {profile.blocks.size()};
}

/// Adds the processes of another profile, whose blocks are not added yet.
void merge_processes(const results::NamedProfile& more, results::NamedProfile& profile) {
  const std::vector<std::uint64_t> added = list_processes(more);
  profile.processes = list_processes(profile);
  profile.processes.insert(profile.processes.end(), added.begin(), added.end());
}

}  // namespace

void merge_profile(const results::NamedProfile& more, results::NamedProfile& profile) {
  if (more.model != profile.model || more.mode != profile.mode || more.clock != profile.clock) {
    throw Error(Error::Kind::kRefused,
                fmt::format("profiles of '{}' in the mode {} by {} and of '{}' in the mode {} by "
                            "{} are not of one thing",
                            profile.model,
                            profile.mode,
                            to_text(profile.clock),
                            more.model,
                            more.mode,
                            to_text(more.clock)));
  }
  const Seconds before = sampled_time(profile);
  const Seconds added = sampled_time(more);
  if (before + added > Seconds(0.0)) {
    profile.rate =
        (profile.rate * before.count() + more.rate * added.count()) / (before + added).count();
  }
  profile.lost += more.lost;
  for (const std::string& problem : more.problems) {
    if (std::find(profile.problems.begin(), profile.problems.end(), problem) ==
        profile.problems.end()) {
      profile.problems.push_back(problem);
    }
  }
  const std::vector<std::uint32_t> steps = merge_steps(more, profile);
  const std::vector<std::uint32_t> functions = merge_functions(more, profile);
  PLUMB_CHECK(more.runs.empty() == profile.runs.empty());
  profile.runs.insert(profile.runs.end(), more.runs.begin(), more.runs.end());
  merge_stacks(more, steps, functions, profile);
  merge_processes(more, profile);
  const auto first_block = static_cast<std::uint32_t>(profile.blocks.size());
  profile.blocks.insert(profile.blocks.end(), more.blocks.begin(), more.blocks.end());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;
  for (std::size_t i = 0; i < profile.cells.size(); ++i) {
    places.emplace(std::pair(profile.cells[i].step, profile.cells[i].function), i);
  }
  for (const results::NamedProfile::Cell& cell : more.cells) {
    const std::uint32_t step =
        cell.step == results::kNoStep ? results::kNoStep : steps.at(cell.step);
    const std::uint32_t function = functions.at(cell.function);
    const auto [place, is_new] = places.try_emplace({step, function}, profile.cells.size());
    if (is_new) {
      profile.cells.push_back({step, function, {}});
    }
    results::append_blocks(cell.counts, first_block, profile.cells[place->second].counts);
  }
  merge_listings(more, first_block, profile);
}

RunMerger::RunMerger(std::size_t runs)
    : blocks_(std::clamp<std::size_t>(
          kMaxMergedBlocks / std::max<std::size_t>(runs, 1), 1, results::kMaxStoredBlocks)) {}

void RunMerger::add(RunMerger::DatedProfile profile) {
  results::NamedProfile more =
      results::condense_profile(std::move(profile.stored.profile), blocks_);
  more.runs = {{profile.stored.run, profile.started, profile.environment, more.blocks.size()}};
  const auto [place, is_new] = profiles_.try_emplace(
      Key(profile.stored.subject, profile.environment, more.mode, more.clock));
  if (is_new) {
    place->second = std::move(more);
  } else {
    merge_profile(more, place->second);
  }
}

std::vector<results::NamedProfile> RunMerger::take() {
  std::vector<results::NamedProfile> merged;
  for (auto& [key, profile] : profiles_) {
    merged.push_back(std::move(profile));
  }
  profiles_.clear();
  const auto newest = [](const results::NamedProfile& profile) {
    return std::max_element(
               profile.runs.begin(),
               profile.runs.end(),
               [](const auto& left, const auto& right) { return left.started < right.started; })
        ->started;
  };
  std::stable_sort(merged.begin(), merged.end(), [&](const auto& left, const auto& right) {
    return newest(left) < newest(right);
  });
  return merged;
}

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

  [[nodiscard]] std::vector<results::NamedProfile::Cell> take() && {
    for (results::NamedProfile::Cell& cell : cells_) {
      results::order_blocks(cell.counts);
    }
    std::sort(cells_.begin(), cells_.end(), [](const auto& left, const auto& right) {
      return std::pair(left.step, left.function) < std::pair(right.step, right.function);
    });
    return std::move(cells_);
  }

 private:
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
  std::vector<results::NamedProfile::Cell> cells_;
};

std::vector<results::NamedProfile::Cell> count_samples(
    const results::SampledProfile& samples, const results::NamedProfile::CodeNames& names) {
  const std::unordered_map<std::uint64_t, std::uint32_t> functions(names.addresses.begin(),
                                                                   names.addresses.end());
  CellTable cells;
  for (const results::SampledProfile::Sample& sample : samples.samples) {
    cells.add(sample.step, functions.at(sample.address), sample.block);
  }
  return std::move(cells).take();
}

/// Returns the functions that a sample's calls led through, innermost first. The chain ends where
/// it leaves the code, because a function without a frame pointer had another number in its place.
std::vector<std::uint32_t> name_calls(const results::SampledProfile::Sample& sample,
                                      const results::SampledProfile& samples,
                                      const results::NamedProfile::CodeNames& names) {
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

std::vector<results::NamedProfile::Stack> count_stacks(
    const results::SampledProfile& samples, const results::NamedProfile::CodeNames& names) {
  std::map<std::tuple<std::uint32_t, std::vector<std::uint32_t>, std::uint32_t>, std::uint64_t>
      counts;
  for (const results::SampledProfile::Sample& sample : samples.samples) {
    std::vector<std::uint32_t> functions = name_calls(sample, samples, names);
    std::reverse(functions.begin(), functions.end());
    ++counts[{sample.step, std::move(functions), sample.thread}];
  }
  std::vector<results::NamedProfile::Stack> stacks;
  stacks.reserve(counts.size());
  for (const auto& [place, count] : counts) {
    const auto& [step, functions, thread] = place;
    stacks.push_back({step, functions, count, thread});
  }
  return stacks;
}

}  // namespace

results::NamedProfile name_samples(const results::SampledProfile& samples,
                                   results::NamedProfile::CodeNames names) {
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
