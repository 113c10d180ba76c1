// SPDX-License-Identifier: Apache-2.0
#include "harness/store/content_hash.hpp"

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/results/profile/profile_json.hpp"

namespace plumb::store {
namespace {

using results::NamedProfile;

void require_finite(const NamedProfile& profile) {
  bool finite = std::isfinite(profile.asked_rate) && std::isfinite(profile.rate);
  for (const results::SampledProfile::Block& block : profile.blocks) {
    finite =
        finite && std::isfinite(block.sampled.count()) && std::isfinite(block.unsampled.count());
  }
  PLUMB_CHECK(finite);
  PLUMB_CHECK(profile.step_names.size() == profile.steps.size());
  PLUMB_CHECK(results::has_whole_processes(profile));
}

void repair_texts(results::NamedProfile::CodeNames::Function& function) {
  for (std::string* const text : {&function.name, &function.image, &function.build_id}) {
    *text = in_utf8(std::move(*text));
  }
}

void repair_texts(NamedProfile& profile) {
  for (std::string* const text :
       {&profile.model, &profile.mode, &profile.stack, &profile.refused}) {
    *text = in_utf8(std::move(*text));
  }
  for (std::vector<std::string>* const texts : {&profile.step_names, &profile.problems}) {
    for (std::string& text : *texts) {
      text = in_utf8(std::move(text));
    }
  }
  for (results::SampledProfile::Step& step : profile.steps) {
    step.key = in_utf8(std::move(step.key));
    step.variant = in_utf8(std::move(step.variant));
  }
  for (results::NamedProfile::CodeNames::Function& function : profile.functions) {
    repair_texts(function);
  }
  for (results::NamedProfile::Listing& listing : profile.listings) {
    repair_texts(listing.function);
    listing.step = in_utf8(std::move(listing.step));
    listing.problem = in_utf8(std::move(listing.problem));
    for (results::NamedProfile::Listing::Instruction& instruction : listing.instructions) {
      instruction.text = in_utf8(std::move(instruction.text));
    }
  }
}

/// Samples by block, of steps and functions in order. No step comes last.
using Samples = std::map<std::pair<std::uint32_t, results::NamedProfile::CodeNames::Function>,
                         std::map<std::uint32_t, std::uint32_t>>;

Samples collect_samples(const NamedProfile& profile) {
  Samples samples;
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    PLUMB_CHECK(cell.step == results::kNoStep || cell.step < profile.steps.size());
    auto& blocks = samples[{cell.step, profile.functions.at(cell.function)}];
    for (const results::NamedProfile::Cell::Count& count : cell.counts) {
      PLUMB_CHECK(count.block < profile.blocks.size());
      blocks[count.block] += count.samples;
    }
  }
  return samples;
}

void put_cells(const Samples& samples, NamedProfile& profile) {
  profile.functions.clear();
  profile.cells.clear();
  std::map<results::NamedProfile::CodeNames::Function, std::uint32_t> numbers;
  for (const auto& [place, blocks] : samples) {
    const auto [number, added] =
        numbers.try_emplace(place.second, static_cast<std::uint32_t>(profile.functions.size()));
    if (added) {
      profile.functions.push_back(place.second);
    }
    results::NamedProfile::Cell cell{place.first, number->second, {}};
    for (const auto& [block, count] : blocks) {
      cell.counts.push_back({block, count});
    }
    profile.cells.push_back(std::move(cell));
  }
}

}  // namespace

results::StoredProfile storable(results::StoredProfile given) {
  require_finite(given.profile);
  given.subject = in_utf8(std::move(given.subject));
  repair_texts(given.profile);
  put_cells(collect_samples(given.profile), given.profile);
  return given;
}

std::int64_t profile_checksum(const results::StoredProfile& stored) {
  const NamedProfile& profile = stored.profile;
  ContentHash hash;
  for (const std::string* const text : {&stored.run,
                                        &stored.subject,
                                        &profile.model,
                                        &profile.mode,
                                        &profile.stack,
                                        &profile.refused}) {
    hash.add(std::string_view(*text));
  }
  hash.add(std::int64_t{stored.taken.time_since_epoch().count()});
  hash.add(to_text(profile.clock)).add(profile.asked_rate).add(profile.rate);
  hash.add(static_cast<std::int64_t>(profile.threads));
  hash.add(static_cast<std::int64_t>(profile.lost));
  for (const std::string& problem : profile.problems) {
    hash.add_flag(true).add(std::string_view(problem));
  }
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const results::SampledProfile::Step& step = profile.steps[i];
    hash.add_flag(step.reorder).add(std::string_view(profile.step_names[i]));
    hash.add(std::string_view(step.key)).add(std::string_view(step.variant));
    hash.add(static_cast<std::int64_t>(step.layers.size()));
    for (const std::size_t layer : step.layers) {
      hash.add(static_cast<std::int64_t>(layer));
    }
  }
  hash.add(std::string_view(results::encode_blocks(profile.blocks)));
  for (const results::NamedProfile::Cell& cell : profile.cells) {
    const results::NamedProfile::CodeNames::Function& function =
        profile.functions.at(cell.function);
    hash.add(std::int64_t{cell.step}).add(std::string_view(function.name));
    hash.add(std::string_view(function.image)).add(std::string_view(function.build_id));
    hash.add(std::string_view(results::encode_counts(cell.counts)));
  }
  if (!profile.listings.empty()) {  // earlier profiles have none
    hash.add(std::string_view(results::to_json(profile.listings).dump()));
  }
  for (const std::uint64_t blocks : profile.processes) {
    hash.add(static_cast<std::int64_t>(blocks));
  }
  return hash.stored();
}

}  // namespace plumb::store
