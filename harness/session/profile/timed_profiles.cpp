// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/timed_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/session/profile/model_profile.hpp"
#include "harness/session/profile/run_profiles.hpp"

namespace plumb::session {

worker::SampledBlocks TimedProfiles::next_request() {
  folder_.emplace("");
  return {kTimedRate, folder_->path()};
}

void TimedProfiles::take(std::size_t index,
                         const results::ExecutionMode& mode,
                         worker::Profile profile) {
  SampledModel sampled{std::move(profile.samples), {}};
  for (const std::string& file : profile.code_files) {
    sampled.dumps.push_back(folder_->path() / file);
  }
  results::NamedProfile named = name_profile(sampled, worker_, mode, models_[index]);
  const auto [known, added] = profiles_.try_emplace({index, mode}, std::move(named));
  if (!added) {
    analysis::merge_profile(named, known->second);
  }
}

ProfilingRecord TimedProfiles::store(std::size_t models) {
  std::vector<std::pair<std::size_t, results::ExecutionMode>> order;
  std::set<std::size_t> profiled;
  for (const auto& [of, profile] : profiles_) {
    order.push_back(of);
    profiled.insert(of.first);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& left, const auto& right) {
    return rank_profiled_mode(left.second) < rank_profiled_mode(right.second);
  });
  for (const auto& of : order) {
    context_.store.put_profile({run_,
                                analysis::subject_of(models_[of.first].instance),
                                current_time(),
                                results::condense_profile(std::move(profiles_.at(of)))});
  }
  profiles_.clear();
  ProfilingRecord record;
  record.models = models;
  record.profiled = profiled.size();
  if (record.profiled < models) {
    record.reason = fmt::format("{} of {} models were not timed, or their samples were lost",
                                models - record.profiled,
                                models);
  }
  return record;
}

}  // namespace plumb::session
