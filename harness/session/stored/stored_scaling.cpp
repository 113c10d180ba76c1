// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_scaling.hpp"

#include <optional>
#include <set>
#include <string>

#include "harness/base/parsed_text.hpp"
#include "harness/results/environment.hpp"

namespace plumb::session {
namespace {

constexpr const char* kThreads = "threads";

/// Returns the threads of an environment. Absent: it does not say.
std::optional<std::size_t> threads_of(const results::Facts& identity) {
  return parse_number<std::size_t>(results::fact_of(identity, kThreads));
}

results::Facts without_threads(results::Facts identity) {
  identity.erase(kThreads);
  return identity;
}

}  // namespace

analysis::ThreadScaling read_scaling(const store::Store& store,
                                     const results::RunHeader& run,
                                     std::span<const model::LayerKey> keys) {
  analysis::ThreadScaling scaling(threads_of(run.environment.identity).value_or(1));
  if (scaling.processors() < 2 || results::is_gpu(run.environment)) {
    return scaling;
  }
  const results::Facts rest = without_threads(run.environment.identity);
  std::set<std::size_t> seen;
  for (const results::RunRecord& other : store.runs()) {
    const results::Environment& environment = other.header.environment;
    const std::optional<std::size_t> threads = threads_of(environment.identity);
    if (threads && *threads < scaling.processors() && !seen.contains(*threads) &&
        without_threads(environment.identity) == rest) {
      seen.insert(*threads);
      scaling.add(*threads,
                  store.reusable(environment.id(), keys, results::CacheMode::kNone, std::nullopt));
    }
  }
  return scaling;
}

}  // namespace plumb::session
