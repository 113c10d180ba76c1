// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/merged_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

bool are_equal(const results::ProfiledStep& left, const results::ProfiledStep& right) {
  return left.layers == right.layers && left.key == right.key && left.variant == right.variant &&
         left.reorder == right.reorder;
}

Seconds sampled_time(const results::NamedProfile& profile) {
  Seconds sum{};
  for (const results::ProfiledBlock& block : profile.blocks) {
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
  std::map<results::ProfiledFunction, std::uint32_t> known;
  for (std::uint32_t i = 0; i < profile.functions.size(); ++i) {
    known.emplace(profile.functions[i], i);
  }
  std::vector<std::uint32_t> numbers;
  for (const results::ProfiledFunction& function : more.functions) {
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
  for (const results::ProfileCell& cell : profile.cells) {
    for (const results::ProfileCell::Count& count : cell.counts) {
      sum += count.samples;
    }
  }
  return sum;
}

/// Returns whether two listings are of one code. Processes have it at other addresses, of which
/// some are in the texts.
bool are_equal(const results::CodeListing& left, const results::CodeListing& right) {
  return left.bytes == right.bytes && left.disassembled == right.disassembled &&
         std::equal(left.instructions.begin(),
                    left.instructions.end(),
                    right.instructions.begin(),
                    right.instructions.end(),
                    [](const auto& one, const auto& other) { return one.offset == other.offset; });
}

/// Adds the samples of listings of equal code. Of two codes of one name, the hotter one stays.
void merge_listings(const results::NamedProfile& more, results::NamedProfile& profile) {
  std::vector<results::CodeListing>& known = profile.listings;
  for (const results::CodeListing& listing : more.listings) {
    const auto place = std::find_if(known.begin(), known.end(), [&](const auto& each) {
      return each.function == listing.function;
    });
    if (place == known.end()) {
      known.push_back(listing);
    } else if (are_equal(*place, listing)) {
      place->samples += listing.samples;
      for (std::size_t i = 0; i < listing.instructions.size(); ++i) {
        place->instructions[i].samples += listing.instructions[i].samples;
      }
    } else if (place->samples < listing.samples) {
      *place = listing;
    }
  }
  std::stable_sort(known.begin(), known.end(), [](const auto& left, const auto& right) {
    return left.samples > right.samples;
  });
  known.resize(std::min(known.size(), results::kMaxListings));
  const std::uint64_t samples = count_all(profile);
  for (results::CodeListing& listing : known) {
    listing.of_profile = samples;
  }
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
  const auto first_block = static_cast<std::uint32_t>(profile.blocks.size());
  profile.blocks.insert(profile.blocks.end(), more.blocks.begin(), more.blocks.end());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;
  for (std::size_t i = 0; i < profile.cells.size(); ++i) {
    places.emplace(std::pair(profile.cells[i].step, profile.cells[i].function), i);
  }
  for (const results::ProfileCell& cell : more.cells) {
    const std::uint32_t step =
        cell.step == results::kNoStep ? results::kNoStep : steps.at(cell.step);
    const std::uint32_t function = functions.at(cell.function);
    const auto [place, is_new] = places.try_emplace({step, function}, profile.cells.size());
    if (is_new) {
      profile.cells.push_back({step, function, {}});
    }
    for (const results::ProfileCell::Count& count : cell.counts) {
      profile.cells[place->second].counts.push_back({first_block + count.block, count.samples});
    }
  }
  merge_listings(more, profile);
}

}  // namespace plumb::analysis
