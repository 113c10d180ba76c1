// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/criteria_file.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/suite/toml_section.hpp"

namespace plumb::session {
namespace {

constexpr double kMaxGrowth = 1000.0;
constexpr double kMaxMinimumBytes = 1e15;
constexpr double kMaxMinimumSeconds = 1e6;
// Both limits of TomlSection::real() are excluded, and 0 is allowed.
constexpr double kBelowZero = -std::numeric_limits<double>::denorm_min();
constexpr std::array<std::string_view, 2> kUnsupported{"none", "allowed"};

void read_limits(suite::TomlSection& section, analysis::Qualification::Criteria& criteria) {
  const auto growth = [&](std::string_view key, double& limit) {
    limit = section.real(key, kBelowZero, kMaxGrowth).value_or(limit);
  };
  growth("model_slowdown", criteria.model_slowdown);
  growth("layer_slowdown", criteria.layer_slowdown);
  growth("memory_growth", criteria.memory_growth);
  growth("creation_growth", criteria.creation_growth);
  growth("first_call_growth", criteria.first_call_growth);
  growth("control_drift", criteria.control_drift);
  const auto minimum = [&](std::string_view key, double& least, double most) {
    least = section.real(key, kBelowZero, most).value_or(least);
  };
  minimum("memory_minimum_bytes", criteria.memory_minimum_bytes, kMaxMinimumBytes);
  minimum("creation_minimum_seconds", criteria.creation_minimum_seconds, kMaxMinimumSeconds);
  minimum("first_call_minimum_seconds", criteria.first_call_minimum_seconds, kMaxMinimumSeconds);
  criteria.geometric_mean =
      section.real("geometric_mean", 0.0, 2.0).value_or(criteria.geometric_mean);
  criteria.maximum_error = section.real("maximum_error", 0.0, kMaxGrowth);
  if (const auto words = section.choices("new_unsupported", kUnsupported)) {
    if (words->size() != 1) {
      section.fail("'new_unsupported' must be 'none' or 'allowed'");
    }
    criteria.new_unsupported = words->front() == "allowed";
  }
}

analysis::Qualification::Criteria::Waiver read_waiver(suite::TomlSection& section,
                                                      const std::string& today) {
  const auto needed = [&](std::string_view key) {
    const auto text = section.text(key);
    if (!text || text->empty()) {
      section.fail(fmt::format("[[waiver]] needs '{}': case, reason, who and expires", key));
    }
    return *text;
  };
  analysis::Qualification::Criteria::Waiver waiver;
  waiver.match = needed("case");
  waiver.reason = needed("reason");
  waiver.who = needed("who");
  waiver.expires = needed("expires");
  if (!results::is_day(waiver.expires)) {
    section.fail(fmt::format("'expires' is not a date such as \"2027-01-31\": '{}'",
                             waiver.expires.substr(0, 64)));
  }
  waiver.expired = today > waiver.expires;
  return waiver;
}

}  // namespace

analysis::Qualification::Criteria read_criteria(const std::filesystem::path& file,
                                                const std::string& today) {
  const toml::table table = suite::parse_toml_file(file, "criteria");
  analysis::Qualification::Criteria criteria;
  criteria.file = file.string();
  criteria.sha256 = sha256_of_file(file);
  suite::TomlSection top(file, table, "criteria");
  top.one("criteria", "[criteria]", [&](suite::TomlSection& section) {
    read_limits(section, criteria);
  });
  top.each("waiver", [&](suite::TomlSection& section) {
    criteria.waivers.push_back(read_waiver(section, today));
  });
  top.finish();
  return criteria;
}

}  // namespace plumb::session
