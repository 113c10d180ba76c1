// SPDX-License-Identifier: Apache-2.0
#include "harness/stacks/dispatch_log.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace plumb::stacks {
namespace {

// Fields of a message: "create:dispatch", kind, engine, kind, implementation, propagation, memory,
// attributes, auxiliary, problem, reason (which may contain commas), place in the source.
constexpr std::ptrdiff_t kImplementation = 4;
constexpr std::ptrdiff_t kReason = 10;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::map<std::string, std::string> dispatch_reasons(std::string_view log) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const std::string_view line : split(log, '\n')) {
    const std::vector<std::string_view> fields = split(line, ',');
    const auto begin = std::find(fields.begin(), fields.end(), "create:dispatch");
    if (fields.front() != "onednn_verbose" || fields.end() - begin <= kReason + 1) {
      continue;
    }
    const std::string implementation(begin[kImplementation]);
    const std::string reason =
        fmt::format("{}", fmt::join(begin + kReason, std::prev(fields.end()), ","));
    if (reason == "bad algorithm") {
      continue;  // a worker tries every algorithm, and this implementation has another
    }
    std::vector<std::string>& known = reasons[implementation];
    if (std::find(known.begin(), known.end(), reason) == known.end()) {
      known.push_back(reason);
    }
  }
  std::map<std::string, std::string> result;
  for (const auto& [implementation, texts] : reasons) {
    result[implementation] = fmt::format("{}", fmt::join(texts, "; "));
  }
  return result;
}

}  // namespace plumb::stacks
