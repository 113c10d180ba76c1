// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/fusion_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "harness/analysis/trace/call_findings.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::analysis {
namespace {

using CallKind = results::ExecutedCall::Kind;
using Kind = TraceFinding::Kind;

}  // namespace

void find_fusions(const model::Graph& graph,
                  const MatchedTrace& matched,
                  std::vector<TraceFinding>& findings) {
  std::vector<std::vector<std::size_t>> calls_of(graph.layers.size());
  for (std::size_t i = 0; i < matched.calls.size(); ++i) {
    if (matched.calls[i].call.kind == CallKind::kCompute) {
      for (const model::LayerId layer : matched.calls[i].layers) {
        calls_of[layer].push_back(i);
      }
    }
  }
  std::map<std::string, std::pair<TraceFinding, std::size_t>> happened;
  std::map<std::string, TraceFinding> missed;
  for (const rewrite::Match& match :
       rewrite::largest_matches(graph, [](const rewrite::Match&) { return true; })) {
    std::set<std::size_t> calls;
    bool complete = true;
    for (const model::LayerId layer : match.layers) {
      complete = complete && !calls_of[layer].empty();
      calls.insert(calls_of[layer].begin(), calls_of[layer].end());
    }
    if (!complete) {
      continue;
    }
    Seconds sum{};
    Seconds longest{};
    for (const std::size_t call : calls) {
      sum += matched.calls[call].call.duration;
      longest = std::max(longest, matched.calls[call].call.duration);
    }
    if (calls.size() > 1) {
      std::string names;
      for (const std::size_t call : calls) {
        names +=
            fmt::format("{}{}", names.empty() ? "" : ", ", call_text(matched.calls[call].call));
      }
      TraceFinding& rule = missed[std::string(match.rewrite)];
      rule.kind = Kind::kMissedFusion;
      rule.time += sum - longest;
      rule.layers.insert(rule.layers.end(), match.layers.begin(), match.layers.end());
      rule.places.push_back({Kind::kMissedFusion,
                             sum - longest,
                             match.layers,
                             fmt::format("{} calls instead of one: {}", calls.size(), names)});
      continue;
    }
    auto& [finding, count] = happened[std::string(match.rewrite)];
    finding.kind = Kind::kFusion;
    finding.time += sum;
    finding.layers.insert(finding.layers.end(), match.layers.begin(), match.layers.end());
    ++count;
  }
  for (auto& [rule, finding] : missed) {
    std::sort(finding.layers.begin(), finding.layers.end());
    std::stable_sort(finding.places.begin(),
                     finding.places.end(),
                     [](const auto& a, const auto& b) { return a.time > b.time; });
    const std::size_t count = finding.places.size();
    finding.evidence = fmt::format("{}: {} time{}, the longest with {}",
                                   rule,
                                   count,
                                   count == 1 ? "" : "s",
                                   finding.places.front().evidence);
    findings.push_back(std::move(finding));
  }
  for (auto& [rule, entry] : happened) {
    std::sort(entry.first.layers.begin(), entry.first.layers.end());
    entry.first.evidence = fmt::format("{}: {} times in one call", rule, entry.second);
    findings.push_back(std::move(entry.first));
  }
}

}  // namespace plumb::analysis
