// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/results/results_json.hpp"
#include "harness/store/export_line.hpp"

namespace plumb::store {
namespace {

using testing::HasSubstr;

results::DerivedRecord record(const std::string& kind, const std::string& payload) {
  results::DerivedRecord result;
  result.kind = kind;
  result.subject = "lenet";
  result.payload = payload;
  return result;
}

TEST(DerivedPayload, what_readers_expect_passes) {
  for (const auto& [kind, payload] : std::vector<std::pair<std::string, std::string>>{
           {"bound", R"({"models":[{"bounds":[{}]}]})"},
           {"whatif", R"({"models":[]})"},
           {"calibration", to_json(results::Calibration())},
           {"noise", R"({"metrics":[{"series":"s","process":0.1,"floor":0.2}]})"},
           {"confirmation", R"({"series":["a"],"after_process":5})"},
           {"change", R"({"state":"open","before_seconds":1,"after_seconds":2})"},
           {"baseline",
            R"({"accepted":"2026-01-01T00:00:00Z","who":"","reason":"","previous":""})"},
           {"device_fault", R"("the GPU fell off the bus")"},
           {"of_a_later_version", "[1]"}}) {
    EXPECT_NO_THROW(check_derived_payload(record(kind, payload))) << kind;
  }
}

TEST(DerivedPayload, what_they_cannot_read_is_refused_by_kind_and_subject) {
  for (const char* const kind : {"alternation",
                                 "baseline",
                                 "bound",
                                 "calibration",
                                 "change",
                                 "comparison",
                                 "confirmation",
                                 "controls",
                                 "execution",
                                 "load",
                                 "model_results",
                                 "noise",
                                 "paired_execution",
                                 "qualification",
                                 "run_times",
                                 "whatif"}) {
    for (const char* const payload : {"", "{", "[]", "5", R"({"models":[{"bounds":5}]})"}) {
      try {
        check_derived_payload(record(kind, payload));
        ADD_FAILURE() << kind << ' ' << payload;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
        EXPECT_THAT(error.what(), testing::AllOf(HasSubstr(kind), HasSubstr("lenet")));
      }
    }
  }
  EXPECT_THROW(check_derived_payload(record("of_a_later_version", "{")), Error);
}

}  // namespace
}  // namespace plumb::store
