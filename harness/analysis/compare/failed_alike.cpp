// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/failed_alike.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"

namespace plumb::analysis {
namespace {

/// Returns the words of a reason that are alike from run to run: those of letters alone.
std::vector<std::string> constant_words(const std::string& reason) {
  std::vector<std::string> words;
  std::istringstream text(reason);
  for (std::string word; text >> word;) {
    while (!word.empty() && std::ispunct(static_cast<unsigned char>(word.back())) != 0) {
      word.pop_back();
    }
    if (!word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
          return std::isalpha(c) != 0;
        })) {
      words.push_back(word);
    }
  }
  return words;
}

std::string failure_text(const results::Outcome& outcome) {
  return outcome.reason.empty() ? std::string(to_text(outcome.kind))
                                : fmt::format("{}: {}", to_text(outcome.kind), outcome.reason);
}

}  // namespace

bool failed_alike(const results::Outcome& baseline, const results::Outcome& candidate) {
  return baseline.kind == candidate.kind &&
         constant_words(baseline.reason) == constant_words(candidate.reason);
}

void judge_failures(const results::Outcome& baseline,
                    const results::Outcome& candidate,
                    MetricComparison& metric) {
  metric.verdict = severity(candidate.kind) > severity(baseline.kind)
                       ? ComparisonVerdict::kBroken
                       : ComparisonVerdict::kInconclusive;
  metric.reason = fmt::format("failed in both runs, but in different ways: {}; now {}",
                              failure_text(baseline),
                              failure_text(candidate));
}

}  // namespace plumb::analysis
