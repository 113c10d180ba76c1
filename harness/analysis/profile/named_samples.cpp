// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/profile/named_samples.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace plumb::analysis {
namespace {

/// Place of a sample in the table of steps, functions and blocks.
struct Place {
  std::uint32_t step = 0;
  std::uint32_t function = 0;
  std::uint32_t block = 0;

  auto operator<=>(const Place&) const = default;
};

std::vector<Place> find_places(const results::SampledProfile& samples,
                               const results::CodeNames& names) {
  std::vector<Place> places;
  places.reserve(samples.samples.size());
  for (const results::AddressSample& sample : samples.samples) {
    places.push_back({sample.step, names.function_at(sample.address), sample.block});
  }
  std::sort(places.begin(), places.end());
  return places;
}

void add(const Place& place, std::vector<results::ProfileCell>& cells) {
  if (cells.empty() || cells.back().step != place.step || cells.back().function != place.function) {
    cells.push_back({place.step, place.function, {}});
  }
  std::vector<results::ProfileCell::Count>& counts = cells.back().counts;
  if (counts.empty() || counts.back().block != place.block) {
    counts.push_back({place.block, 0});
  }
  ++counts.back().samples;
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
  for (const Place& place : find_places(samples, names)) {
    add(place, profile.cells);
  }
  profile.functions = std::move(names.functions);
  profile.problems = std::move(names.problems);
  return profile;
}

}  // namespace plumb::analysis
