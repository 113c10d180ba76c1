// SPDX-License-Identifier: Apache-2.0
#include "harness/results/results_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

using testing::HasSubstr;

Measurement full_row() {
  Measurement row;
  row.key.text = "v1:eltwise;in=f32[8];out=f32[8];acc=f32;math=strict;fn=relu;parameters=[]";
  row.variant = "impl=jit:avx2";
  row.library_choice = true;
  row.cache = CacheMode::kWeights;
  row.purpose = Purpose::kConfirm;
  row.outcome = {Outcome::Kind::kUnstable, "±8% after 50 ms"};
  row.samples = {Seconds(1.1e-6), Seconds(1.2e-6)};
  row.repetitions = 20;
  row.summary = {2,
                 Seconds(1.15e-6),
                 {Seconds(1.1e-6), Seconds(1.2e-6)},
                 Seconds(1.1e-6),
                 Seconds(1.19e-6),
                 Seconds(1.15e-6),
                 true};
  row.floor = Seconds(3e-8);
  row.creation = Seconds(0.25);
  row.reorder = Seconds(2e-6);
  row.workspace = Bytes{4096};
  row.maximum_error = 1.0 / 3.0;
  row.output_hash = "00ff";
  row.attributes = {{"engine", "62"}};
  row.readings = {{"energy_joules", {1.0 / 3.0, 0.25, 0.5, 7}}};
  row.disturbance = {3, 0.125, std::nullopt, 0.5, true};
  row.attempt = 2;
  row.process = 4;
  row.started = parse_timestamp("2026-11-21T01:02:03.000004Z");
  row.wall = Seconds(0.75);
  return row;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

template <typename Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ResultsJson, a_measurement_reads_back_the_same) {
  const Measurement row = full_row();
  const Measurement back = measurement_from_json(to_json(row));
  EXPECT_EQ(to_json(back), to_json(row));
  EXPECT_EQ(back.key, row.key);
  EXPECT_EQ(back.outcome, row.outcome);
  EXPECT_EQ(back.samples, row.samples);
  EXPECT_EQ(back.summary.p90, row.summary.p90);
  EXPECT_EQ(back.maximum_error, 1.0 / 3.0);
  EXPECT_EQ(back.attributes, row.attributes);
  EXPECT_EQ(back.readings, row.readings);
  EXPECT_EQ(back.first_call, std::nullopt);
  EXPECT_EQ(back.disturbance.load, std::nullopt);
  EXPECT_EQ(back.disturbance.pressure_ratio, 0.5);
  EXPECT_EQ(back.started, row.started);
}

TEST(ResultsJson, fields_carry_their_units) {
  const std::string text = to_json(full_row());
  EXPECT_THAT(text, HasSubstr(R"("creation_seconds":0.25)"));
  EXPECT_THAT(text, HasSubstr(R"("workspace_bytes":4096)"));
  EXPECT_THAT(text, HasSubstr(R"("started":"2026-11-21T01:02:03.000004Z")"));
  EXPECT_THAT(text, HasSubstr(R"("first_call_seconds":null)"));
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(ResultsJson, an_infinite_or_nan_error_stays_an_error) {
  Measurement row = full_row();
  for (const double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    row.maximum_error = bad;
    const auto back = measurement_from_json(to_json(row)).maximum_error;
    ASSERT_TRUE(back.has_value());
    EXPECT_TRUE(std::isinf(*back));
  }
}

TEST(ResultsJson, bytes_that_are_not_utf8_are_replaced) {
  Measurement row = full_row();
  row.outcome.reason = "died: \xFF\xC3";
  EXPECT_THAT(measurement_from_json(to_json(row)).outcome.reason, HasSubstr("died: "));
}

TEST(ResultsJson, errors_name_the_field) {
  const std::string good = to_json(full_row());
  const auto message = [&](const std::string& from, const std::string& to) {
    return error_of([&] { (void)measurement_from_json(replaced(good, from, to)); });
  };
  EXPECT_THAT(message(R"("attempt":2)", R"("attempt":2.5)"), HasSubstr("'attempt'"));
  EXPECT_THAT(message(R"("attempt":2)", R"("attempt":-1)"), HasSubstr("'attempt'"));
  EXPECT_THAT(message(R"("attempt":2)", R"("attempt":18446744073709551615)"),
              HasSubstr("'attempt'"));
  EXPECT_THAT(message(R"("attempt":2)", R"("attempt":1e300)"), HasSubstr("'attempt'"));
  EXPECT_THAT(message(R"("repetitions":20)", R"("repetitions":0)"), HasSubstr("'repetitions'"));
  EXPECT_THAT(message(R"("key":)", R"("kei":)"), HasSubstr("'key' is missing"));
  EXPECT_THAT(message(R"("cache":"weights")", R"("cache":"warm")"), HasSubstr("'warm'"));
  EXPECT_THAT(message(R"("wall_seconds":0.75)", R"("wall_seconds":"long")"),
              HasSubstr("'wall_seconds'"));
  EXPECT_THAT(message("2026-11-21", "2026-13-21"), HasSubstr("is not a time"));
}

TEST(ResultsJson, what_is_not_json_is_refused) {
  EXPECT_THAT(error_of([] { (void)measurement_from_json(""); }), HasSubstr("not JSON"));
  EXPECT_THAT(error_of([] { (void)measurement_from_json("[]"); }), HasSubstr("object"));
  EXPECT_THAT(error_of([] { (void)measurement_from_json("{\"key\":"); }), HasSubstr("not JSON"));
  const std::string deep(100'000, '[');
  EXPECT_THAT(error_of([&] { (void)measurement_from_json(deep); }), HasSubstr("deeper"));
  const std::string of_texts = R"({"key":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ \" {{{"})";
  EXPECT_THAT(error_of([&] { (void)measurement_from_json(of_texts); }), HasSubstr("is missing"))
      << "brackets in a text are no levels";
  std::string many = "[0";
  for (int i = 0; i < 10'000'001; ++i) {
    many += ",0";
  }
  EXPECT_THAT(error_of([&] { (void)measurement_from_json(many + "]"); }),
              HasSubstr("at most 10000000 are read"));
}

TEST(ResultsJson, a_run_header_reads_back_the_same) {
  RunHeader header{.id = "01J00000000000000000000000",
                   .suite = "quick",
                   .suite_hash = "ab",
                   .resolved_suite = "{\"models\":[]}",
                   .backend = "onednn",
                   .stack = "default",
                   .environment = {{{"threads", "1"}}, {{"kernel", "6.1"}}},
                   .shard = "1/4",
                   .command = {"plumb", "run", "quick suite"},
                   .started = parse_timestamp("2026-11-21T01:02:03Z")};
  const RunHeader back = run_header_from_json(to_json(header));
  EXPECT_EQ(to_json(back), to_json(header));
  EXPECT_EQ(back.command, header.command);
  EXPECT_EQ(back.environment.id(), header.environment.id());
  EXPECT_EQ(back.environment.facts, header.environment.facts);
  EXPECT_EQ(environment_from_json(to_json(header.environment)).identity,
            header.environment.identity);
}

TEST(ResultsJson, a_calibration_reads_back_the_same) {
  Calibration calibration;
  calibration.peak_f32.value = 1.2e11;
  calibration.memory_bandwidth.value = 2.5e10;
  calibration.last_level_cache.value = 33'554'432;
  calibration.floor = Seconds(4e-8);
  calibration.timer_tick = Seconds(1e-9);
  calibration.parallel_efficiency = 0.97;
  const Calibration back = calibration_from_json(to_json(calibration));
  EXPECT_EQ(back.peak_f32.value, 1.2e11);
  EXPECT_EQ(back.last_level_cache.value, 33'554'432);
  EXPECT_EQ(back.parallel_efficiency, 0.97);
  EXPECT_FALSE(back.theoretical_f32.has_value());
  calibration.theoretical_f32 = FlopsPerSecond{1.5e11};
  EXPECT_EQ(calibration_from_json(to_json(calibration)).theoretical_f32->value, 1.5e11);
}

TEST(ResultsJson, a_peak_that_a_store_lacks_is_unknown_and_not_zero) {
  for (const auto& [name, peak] : {std::pair{"peak_f16_flops_per_second", &Calibration::peak_f16},
                                   {"peak_tf32_flops_per_second", &Calibration::peak_tf32},
                                   {"peak_int8_operations_per_second", &Calibration::peak_int8}}) {
    SCOPED_TRACE(name);
    Calibration calibration;
    calibration.*peak = FlopsPerSecond{4e11};
    std::string text = to_json(calibration);
    EXPECT_EQ((calibration_from_json(text).*peak)->value, 4e11);
    const std::string field = '"' + std::string(name) + R"(":400000000000.0,)";
    const auto at = text.find(field);
    ASSERT_NE(at, std::string::npos) << text;
    text.erase(at, field.size());
    EXPECT_FALSE((calibration_from_json(text).*peak).has_value())
        << "written by an earlier version";
    (calibration.*peak).reset();
    EXPECT_FALSE((calibration_from_json(to_json(calibration)).*peak).has_value());
  }
}

}  // namespace
}  // namespace plumb::results
