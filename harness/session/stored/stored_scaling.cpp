// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_scaling.hpp"

#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "harness/results/environment.hpp"

namespace plumb::session {
namespace {

constexpr const char* kThreads = "threads";

/// Returns the threads of an environment. Absent: it does not say.
std::optional<std::size_t> threads_of(const results::Facts& identity) {
  const auto found = identity.find(kThreads);
  std::size_t threads = 0;
  if (found == identity.end()) {
    return std::nullopt;
  }
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(threads)
                                                                  : std::nullopt;
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
