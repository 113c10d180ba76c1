// SPDX-License-Identifier: Apache-2.0
#include "harness/results/exclusion.hpp"

#include <algorithm>
#include <regex>

#include "harness/base/name_match.hpp"
#include "harness/results/json_fields.hpp"

namespace plumb::results {
namespace {

constexpr std::size_t kMaxExclusions = 10'000;

}  // namespace

bool is_day(std::string_view text) {
  static const std::regex day("[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])");
  return std::regex_match(text.begin(), text.end(), day);
}

const Exclusion* find_exclusion(const std::vector<Exclusion>& exclusions,
                                const std::vector<std::string>& names) {
  const auto found =
      std::find_if(exclusions.begin(), exclusions.end(), [&](const Exclusion& exclusion) {
        return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return matches_pattern(exclusion.match, name);
        });
      });
  return found == exclusions.end() ? nullptr : &*found;
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Exclusion>& value) {
  fields("case", value.match);
  fields("reason", value.reason);
  fields.since("who", value.who);
  fields("expires", value.until);
}

namespace {

/// List of exclusions as a record holds it.
struct ExclusionList {
  std::vector<Exclusion> exclusions;
};

template <typename Fields>
void describe(Fields& fields, Described<Fields, ExclusionList>& value) {
  fields("exclusions", value.exclusions, {.elements = kMaxExclusions});
}

}  // namespace

std::string to_json(const std::vector<Exclusion>& exclusions) {
  return described_text(ExclusionList{exclusions});
}

std::vector<Exclusion> exclusions_from_json(const std::string& payload) {
  return value_from_text<ExclusionList>(payload).exclusions;
}

}  // namespace plumb::results
