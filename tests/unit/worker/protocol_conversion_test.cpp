// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/protocol_conversion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

results::Measurement full_row() {
  results::Measurement row;
  row.key = {"v1:conv;in=f32[1,64,56,56]"};
  row.variant = "impl=brgconv:avx512_core;layout=any";
  row.library_choice = true;
  row.reference_implementation = true;
  row.cache = results::CacheMode::kWeights;
  row.purpose = results::Purpose::kConfirm;
  row.outcome = {results::Outcome::Kind::kUnstable, "wide interval"};
  row.samples = {Seconds(0.25), Seconds(1.0 / 3.0), Seconds(5e-324), Seconds(0)};
  row.turns = {Seconds(0.3), Seconds(0.2)};
  row.repetitions = 4096;
  row.summary = {.n = 4,
                 .median = Seconds(0.1),
                 .interval = {Seconds(0.05), Seconds(0.15)},
                 .min = Seconds(0.01),
                 .p90 = Seconds(0.2),
                 .mean = Seconds(0.12),
                 .min_has_company = true};
  row.floor = Seconds(1e-7);
  row.creation = Seconds(0.03);
  row.first_call = Seconds(0.04);
  row.reorder = Seconds(0.05);
  row.workspace = {std::int64_t{1} << 40};
  row.maximum_error = 3e-6;
  row.output_hash = "abcdef";
  row.attributes = {{"engine", "62"}, {"plan", R"({"engine":{}})"}};
  row.readings = {{"power_watts", {310.0, 309.0, 312.0, 3}}};
  row.disturbance = {.involuntary_switches = 17,
                     .steal_ratio = 0.25,
                     .load = 1.5,
                     .pressure_ratio = 0.125,
                     .disturbed = true};
  row.attempt = 3;
  row.process = 9;
  row.started = parse_timestamp("2026-11-21T01:02:03.000004Z");
  row.wall = Seconds(2.5);
  return row;
}

void expect_equal(const results::Measurement& a, const results::Measurement& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.variant, b.variant);
  EXPECT_EQ(a.library_choice, b.library_choice);
  EXPECT_EQ(a.reference_implementation, b.reference_implementation);
  EXPECT_EQ(a.cache, b.cache);
  EXPECT_EQ(a.purpose, b.purpose);
  EXPECT_EQ(a.outcome, b.outcome);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.turns, b.turns);
  EXPECT_EQ(a.repetitions, b.repetitions);
  EXPECT_EQ(a.summary.n, b.summary.n);
  EXPECT_EQ(a.summary.median, b.summary.median);
  EXPECT_EQ(a.summary.interval.low, b.summary.interval.low);
  EXPECT_EQ(a.summary.interval.high, b.summary.interval.high);
  EXPECT_EQ(a.summary.min, b.summary.min);
  EXPECT_EQ(a.summary.p90, b.summary.p90);
  EXPECT_EQ(a.summary.mean, b.summary.mean);
  EXPECT_EQ(a.summary.min_has_company, b.summary.min_has_company);
  EXPECT_EQ(a.floor, b.floor);
  EXPECT_EQ(a.creation, b.creation);
  EXPECT_EQ(a.first_call, b.first_call);
  EXPECT_EQ(a.reorder, b.reorder);
  EXPECT_EQ(a.workspace, b.workspace);
  EXPECT_EQ(a.maximum_error, b.maximum_error);
  EXPECT_EQ(a.output_hash, b.output_hash);
  EXPECT_EQ(a.attributes, b.attributes);
  EXPECT_EQ(a.readings, b.readings);
  EXPECT_EQ(a.disturbance.involuntary_switches, b.disturbance.involuntary_switches);
  EXPECT_EQ(a.disturbance.steal_ratio, b.disturbance.steal_ratio);
  EXPECT_EQ(a.disturbance.load, b.disturbance.load);
  EXPECT_EQ(a.disturbance.pressure_ratio, b.disturbance.pressure_ratio);
  EXPECT_EQ(a.disturbance.disturbed, b.disturbance.disturbed);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.process, b.process);
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.wall, b.wall);
}

TEST(ProtocolConversion, carries_every_field_of_a_measurement) {
  const results::Measurement row = full_row();
  expect_equal(carried(row), row);
}

TEST(ProtocolConversion, keeps_absent_fields_of_a_measurement_absent) {
  results::Measurement row;
  row.key = {"v1:view"};
  const results::Measurement back = carried(row);
  expect_equal(back, row);
  EXPECT_FALSE(back.creation || back.first_call || back.reorder || back.maximum_error);
  EXPECT_FALSE(back.disturbance.steal_ratio || back.disturbance.load ||
               back.disturbance.pressure_ratio);
}

TEST(ProtocolConversion, carries_every_enumerator) {
  results::Measurement row = full_row();
  for (int kind = 0; kind <= static_cast<int>(results::Outcome::Kind::kSkipped); ++kind) {
    row.outcome.kind = static_cast<results::Outcome::Kind>(kind);
    EXPECT_EQ(carried(row).outcome.kind, row.outcome.kind);
  }
  for (const results::CacheMode cache :
       {results::CacheMode::kNone, results::CacheMode::kWeights, results::CacheMode::kAll}) {
    row.cache = cache;
    EXPECT_EQ(carried(row).cache, cache);
  }
  for (const results::Purpose purpose :
       {results::Purpose::kRace, results::Purpose::kFull, results::Purpose::kConfirm}) {
    row.purpose = purpose;
    EXPECT_EQ(carried(row).purpose, purpose);
  }
  for (const Error::Kind kind : {Error::Kind::kUser,
                                 Error::Kind::kEnvironment,
                                 Error::Kind::kRefused,
                                 Error::Kind::kTryAgain,
                                 Error::Kind::kInternal}) {
    EXPECT_EQ(carried(WorkerService::ReportedError{kind, "text"}).kind, kind);
  }
}

TEST(ProtocolConversion, carries_every_field_of_a_request) {
  WorkerService::MeasureRequest request;
  request.key = {"v1:gemm"};
  request.caches = {results::CacheMode::kAll, results::CacheMode::kNone};
  request.variants = {"a=1", "b=2"};
  request.purpose = results::Purpose::kConfirm;
  request.sampling = {.warm_up_at_least = Seconds(0.01),
                      .warm_up_at_most = Seconds(0.02),
                      .budget = Seconds(0.03),
                      .relative_half_width = 0.04,
                      .samples_at_least = 5,
                      .samples_at_most = 6,
                      .sample_at_least = Seconds(0.07),
                      .repetitions_at_most = 8};
  request.race_budget = Seconds(0.09);
  request.race_margin = 0.11;
  request.seed = std::numeric_limits<std::uint64_t>::max();
  request.verify = false;
  request.verify_fully_below_macs = 12;
  request.disturbed_attempts = 13;

  const WorkerService::MeasureRequest back = carried(request);
  EXPECT_EQ(back.key, request.key);
  EXPECT_EQ(back.caches, request.caches);
  EXPECT_EQ(back.variants, request.variants);
  EXPECT_EQ(back.purpose, request.purpose);
  EXPECT_EQ(back.sampling.warm_up_at_least, request.sampling.warm_up_at_least);
  EXPECT_EQ(back.sampling.warm_up_at_most, request.sampling.warm_up_at_most);
  EXPECT_EQ(back.sampling.budget, request.sampling.budget);
  EXPECT_EQ(back.sampling.relative_half_width, request.sampling.relative_half_width);
  EXPECT_EQ(back.sampling.samples_at_least, request.sampling.samples_at_least);
  EXPECT_EQ(back.sampling.samples_at_most, request.sampling.samples_at_most);
  EXPECT_EQ(back.sampling.sample_at_least, request.sampling.sample_at_least);
  EXPECT_EQ(back.sampling.repetitions_at_most, request.sampling.repetitions_at_most);
  EXPECT_EQ(back.race_budget, request.race_budget);
  EXPECT_EQ(back.race_margin, request.race_margin);
  EXPECT_EQ(back.seed, request.seed);
  EXPECT_EQ(back.verify, request.verify);
  EXPECT_EQ(back.verify_fully_below_macs, request.verify_fully_below_macs);
  EXPECT_EQ(back.disturbed_attempts, request.disturbed_attempts);
}

TEST(ProtocolConversion, carries_every_field_of_a_calibration) {
  results::Calibration calibration;
  calibration.peak_f32 = {1e11};
  calibration.peak_bf16 = {2e11};
  calibration.memory_bandwidth = {3e10};
  calibration.last_level_cache = {4'000'000};
  calibration.floor = Seconds(5e-8);
  calibration.timer_tick = Seconds(6e-9);
  calibration.parallel_efficiency = 0.7;
  calibration.theoretical_f32 = FlopsPerSecond{8e11};
  calibration.peak_int8 = FlopsPerSecond{9e11};
  calibration.peak_f16 = FlopsPerSecond{7e11};
  calibration.peak_tf32 = FlopsPerSecond{3e11};
  const results::Calibration back = carried(calibration);
  EXPECT_EQ(back.peak_f32, calibration.peak_f32);
  EXPECT_EQ(back.peak_bf16, calibration.peak_bf16);
  EXPECT_EQ(back.memory_bandwidth, calibration.memory_bandwidth);
  EXPECT_EQ(back.last_level_cache, calibration.last_level_cache);
  EXPECT_EQ(back.floor, calibration.floor);
  EXPECT_EQ(back.timer_tick, calibration.timer_tick);
  EXPECT_EQ(back.parallel_efficiency, calibration.parallel_efficiency);
  EXPECT_EQ(back.theoretical_f32, calibration.theoretical_f32);
  EXPECT_EQ(back.peak_int8, calibration.peak_int8);
  EXPECT_EQ(back.peak_f16, calibration.peak_f16);
  EXPECT_EQ(back.peak_tf32, calibration.peak_tf32);
  calibration.peak_tf32.reset();
  EXPECT_FALSE(carried(calibration).peak_tf32.has_value());
  calibration.peak_f16.reset();
  EXPECT_FALSE(carried(calibration).peak_f16.has_value());
  calibration.peak_int8.reset();
  EXPECT_FALSE(carried(calibration).peak_int8.has_value());
  calibration.theoretical_f32.reset();
  EXPECT_FALSE(carried(calibration).theoretical_f32.has_value());
}

TEST(ProtocolConversion, carries_environments_variants_and_errors) {
  results::Environment environment;
  environment.identity = {{"backend", "onednn"}, {"library", "3.2"}};
  environment.facts = {{"path", "/lib/libdnnl.so.3"}};
  const results::Environment environment_back = carried(environment);
  EXPECT_EQ(environment_back.identity, environment.identity);
  EXPECT_EQ(environment_back.facts, environment.facts);

  std::vector<Variant> variants(2);
  variants[0].text = "a";
  variants[0].library_choice = true;
  variants[1].text = "b";
  variants[1].reference_implementation = true;
  const std::vector<Variant> variants_back = carried(WorkerService::VariantList{variants}).variants;
  ASSERT_EQ(variants_back.size(), 2U);
  EXPECT_EQ(variants_back[0].text, "a");
  EXPECT_TRUE(variants_back[0].library_choice);
  EXPECT_FALSE(variants_back[0].reference_implementation);
  EXPECT_EQ(variants_back[1].text, "b");
  EXPECT_FALSE(variants_back[1].library_choice);
  EXPECT_TRUE(variants_back[1].reference_implementation);

  EXPECT_EQ(carried(WorkerService::ReportedError{Error::Kind::kUser, "no"}).text, "no");
  EXPECT_THROW(static_cast<void>(spoilt(WorkerService::ReportedError{},
                                        [](auto& error) { error["exit_status"] = 5; })),
               FrameChannel::ProtocolError);
}

/// Names the field that a spoilt measurement is refused for; empty if it is taken.
template <typename Spoil>
std::string refusal(const Spoil& spoil) {
  try {
    (void)spoilt(full_row(), spoil);
  } catch (const FrameChannel::ProtocolError& error) {
    EXPECT_EQ(error.kind(), FrameChannel::ProtocolError::Kind::kBroken);
    return error.what();
  }
  return {};
}

TEST(ProtocolConversion, refuses_values_out_of_range) {
  using Json = nlohmann::json;
  using testing::HasSubstr;
  EXPECT_EQ(refusal([](Json&) {}), "");
  EXPECT_THAT(refusal([](Json& row) { row["key"] = ""; }), HasSubstr("'key'"));
  EXPECT_THAT(refusal([](Json& row) { row["key"] = std::string(70'000, 'x'); }),
              HasSubstr("'key'"));
  for (const char* field : {"key", "outcome", "cache", "purpose", "summary"}) {
    EXPECT_THAT(refusal([&](Json& row) { row.erase(field); }), HasSubstr(field));
  }
  for (const char* field : {"outcome", "cache", "purpose"}) {
    EXPECT_THAT(refusal([&](Json& row) { row[field] = "splendid"; }), HasSubstr(field));
  }
  for (const Json& wrong : {Json(), Json(-1e-9), Json(2e8), Json("1")}) {
    EXPECT_THAT(refusal([&](Json& row) { row["floor_seconds"] = wrong; }),
                HasSubstr("'floor_seconds'"))
        << wrong;
    EXPECT_THAT(refusal([&](Json& row) { row["summary"]["median_seconds"] = wrong; }),
                HasSubstr("'median_seconds'"))
        << wrong;
  }
  EXPECT_THAT(refusal([](Json& row) { row["attributes"]["a b"] = "x"; }),
              HasSubstr("'attributes'"));
  EXPECT_THAT(refusal([](Json& row) {
                row["attributes"]["plan"] = std::string(results::kMaxAttributeText + 1, 'x');
              }),
              HasSubstr("'plan'"));
  EXPECT_THAT(refusal([](Json& row) { row["readings"]["power_watts"]["low"] = 1e31; }),
              HasSubstr("'low'"));
  EXPECT_THAT(refusal([](Json& row) { row["repetitions"] = 0; }), HasSubstr("'repetitions'"));
  EXPECT_THAT(refusal([](Json& row) { row["workspace_bytes"] = -1; }),
              HasSubstr("'workspace_bytes'"));
  EXPECT_THAT(refusal([](Json& row) { row["attempt"] = -5; }), HasSubstr("'attempt'"));
  EXPECT_THAT(refusal([](Json& row) { row["process"] = -1; }), HasSubstr("'process'"));
  EXPECT_THAT(refusal([](Json& row) { row["started"] = "yesterday"; }), HasSubstr("yesterday"));
  EXPECT_THAT(refusal([](Json& row) { row["disturbance"]["load"] = 1e7; }), HasSubstr("'load'"));
}

TEST(ProtocolConversion, refuses_samples_and_turns_that_are_no_times) {
  using testing::HasSubstr;
  const auto refused = [](const auto& change) {
    try {
      static_cast<void>(carried(full_row(), change));
    } catch (const FrameChannel::ProtocolError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const std::vector<const char*> names{"'samples_seconds'", "'turns_seconds'"};
  for (int list = 0; list < 2; ++list) {
    for (const double wrong : {-1e-9, 2e8, std::nan("")}) {
      results::Measurement row = full_row();
      (list == 0 ? row.samples : row.turns)[1] = Seconds(wrong);
      EXPECT_THROW(static_cast<void>(carried(row)), FrameChannel::ProtocolError) << wrong;
    }
    EXPECT_THAT(refused([&](auto& content) { content.mutable_attachments(list)->pop_back(); }),
                HasSubstr(names[static_cast<std::size_t>(list)]));
  }
  EXPECT_THAT(refused([&](auto& content) {
                content.mutable_attachments(0)->resize(8 * (results::kMaxStoredSamples + 1));
              }),
              HasSubstr(names[0]));
  EXPECT_THAT(refused([&](auto& content) { content.mutable_attachments(1)->resize(40); }),
              HasSubstr(names[1]))
      << "five turns of four samples";
  EXPECT_THAT(refused([](auto& content) { content.add_attachments("more"); }),
              HasSubstr("'attachments'"));
  EXPECT_THAT(refused([](auto& content) { content.clear_attachments(); }),
              HasSubstr("'attachments'"));
}

TEST(ProtocolConversion, reads_the_hello_of_versions_before_the_envelope) {
  using namespace std::string_literals;
  protocol::Request request;  // with a setup inside
  ASSERT_TRUE(request.ParseFromString("\x0a\x06\x08\x0b\x1a\x02\x10\x01"s));
  EXPECT_EQ(request.kind(), protocol::Request::HELLO);
  EXPECT_EQ(request.hello().version(), 11U);
  protocol::Reply reply;
  ASSERT_TRUE(
      reply.ParseFromString("\x0a\x07\x08\x0b\x12\x03"
                            "any"s));
  EXPECT_EQ(reply.kind(), protocol::Reply::HELLO);
  EXPECT_EQ(reply.hello().version(), 11U);
  EXPECT_EQ(reply.hello().backend(), "any");
}

TEST(ProtocolConversion, replaces_what_is_not_text) {
  results::Measurement row = full_row();
  row.outcome.reason = "wide \xff interval";
  EXPECT_EQ(carried(row).outcome.reason, "wide \ufffd interval");
}

TEST(ProtocolConversion, lets_a_wrong_result_be_infinitely_wrong) {
  results::Measurement row = full_row();
  row.maximum_error = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isinf(carried(row).maximum_error.value()));
  row.maximum_error = std::nan("");
  EXPECT_TRUE(std::isinf(carried(row).maximum_error.value()));
}

}  // namespace
}  // namespace plumb::worker
