// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/host_agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/analysis/bounds/model_bounds.hpp"

namespace plumb::analysis {
namespace {

/// Returns by how much the slowest of some hosts takes longer than the fastest, relative to that.
double spread(const std::set<std::string>& hosts,
              const HostControls& controls,
              Seconds results::Controls::*time) {
  Seconds fastest{};
  Seconds slowest{};
  for (const std::string& host : hosts) {
    const Seconds own = *controls.at(host).*time;
    fastest = fastest.count() > 0.0 ? std::min(fastest, own) : own;
    slowest = std::max(slowest, own);
  }
  return fastest.count() > 0.0 ? slowest / fastest - 1.0 : 0.0;
}

}  // namespace

std::string host_disagreement(const std::set<std::string>& hosts, const HostControls& controls) {
  if (hosts.size() < 2) {
    return {};
  }
  const std::string of_hosts = fmt::format("it was measured on {}", fmt::join(hosts, ", "));
  for (const std::string& host : hosts) {
    const auto known = controls.find(host);
    if (known == controls.end() || !known->second) {
      return fmt::format("{}, but {} measured no controls", of_hosts, host);
    }
  }
  const double product = spread(hosts, controls, &results::Controls::product);
  const double copy = spread(hosts, controls, &results::Controls::copy);
  if (product <= kHostLimit && copy <= 2.0 * kHostLimit) {
    return {};
  }
  return fmt::format("{}, whose controls differ: the product by {:.1f} %, the copy by {:.1f} %",
                     of_hosts,
                     100.0 * product,
                     100.0 * copy);
}

void require_like_hosts(const std::set<std::string>& hosts,
                        const HostControls& controls,
                        ModelBounds& model) {
  const std::string why = host_disagreement(hosts, controls);
  if (why.empty()) {
    return;
  }
  for (Bound& bound : model.bounds) {
    bound.complete = false;
    bound.lacks.push_back(why);
  }
  model.findings.push_back("its bounds are incomplete: " + why);
}

}  // namespace plumb::analysis
