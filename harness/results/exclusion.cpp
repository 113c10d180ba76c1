// SPDX-License-Identifier: Apache-2.0
#include "harness/results/exclusion.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "harness/base/json_text.hpp"
#include "harness/base/name_pattern.hpp"
#include "harness/results/json_object.hpp"

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

std::string to_json(const std::vector<Exclusion>& exclusions) {
  nlohmann::json document{{"exclusions", nlohmann::json::array()}};
  for (const Exclusion& each : exclusions) {
    document["exclusions"].push_back({{"case", each.match},
                                      {"reason", each.reason},
                                      {"who", each.who},
                                      {"expires", each.until}});
  }
  return json_text(document);
}

std::vector<Exclusion> exclusions_from_json(const std::string& payload) {
  const nlohmann::json document = parse_json(payload);
  std::vector<Exclusion> exclusions;
  for (const nlohmann::json& entry : JsonObject(document).array("exclusions", kMaxExclusions)) {
    const JsonObject each(entry);
    exclusions.push_back(
        {each.text("case"), each.text("reason"), each.text_or_empty("who"), each.text("expires")});
  }
  return exclusions;
}

}  // namespace plumb::results
