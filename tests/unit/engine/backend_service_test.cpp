// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/service/backend_service.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

ScriptedVariant variant(const std::string& name, double seconds) {
  ScriptedVariant result;
  result.variant.text = name;
  result.hot = Seconds(seconds);
  return result;
}

ScriptedVariant chosen(ScriptedVariant base) {
  base.variant.library_choice = true;
  return base;
}

ScriptedVariant reference(ScriptedVariant base) {
  base.variant.reference_implementation = true;
  return base;
}

/// The scripted programs compute relu. A constant operand stands in for weights.
model::LayerKey key_of(bool with_weights = false) {
  model::LayerSpec spec;
  spec.op = "eltwise";
  spec.inputs = {model::TensorType{model::DataType::kF32, {4, 8}, with_weights, {}}};
  spec.outputs = {model::TensorType{model::DataType::kF32, {4, 8}, false, {}}};
  spec.attributes["fn"] = std::string("relu");
  spec.attributes["parameters"] = std::vector<double>{};
  return model::to_key(spec);
}

class Service : public ::testing::Test {
 protected:
  std::vector<results::Measurement> measure(ScriptedBackend& backend,
                                            const worker::WorkerService::MeasureRequest& request) {
    BackendService::Options options;
    options.last_level_cache = Bytes{1 << 16};
    options.clock = backend.script.clock();
    options.disturbance = [] { return measure::Disturbance::Reading{}; };
    BackendService service(backend, options);
    std::vector<results::Measurement> rows;
    service.measure(
        request,
        [&](results::Measurement row) { rows.push_back(std::move(row)); },
        [&] { ++turns_; });
    return rows;
  }
  std::size_t turns_ = 0;
  static worker::WorkerService::MeasureRequest request(bool with_weights = false) {
    worker::WorkerService::MeasureRequest result;
    result.key = key_of(with_weights);
    return result;
  }
  static std::vector<std::string> variants_of(const std::vector<results::Measurement>& rows,
                                              results::Purpose purpose) {
    std::vector<std::string> names;
    for (const results::Measurement& row : rows) {
      if (row.purpose == purpose && row.outcome.timed()) {
        names.push_back(row.variant);
      }
    }
    return names;
  }
};

TEST_F(Service, times_a_hot_block_in_six_turns_if_it_is_asked_to) {
  ScriptedVariant variant{};
  variant.variant.text = "impl=scripted";
  variant.hot = Seconds(0.001);
  ScriptedBackend backend({variant});
  worker::WorkerService::MeasureRequest asked = request();
  asked.variants = {"impl=scripted"};
  asked.sampling = {.warm_up_at_most = Seconds(0.02), .budget = Seconds(0.005)};
  asked.in_turns = true;
  const std::vector<results::Measurement> rows = measure(backend, asked);
  EXPECT_EQ(turns_, 6U);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].outcome.timed()) << rows[0].outcome.reason;
  EXPECT_GE(rows[0].samples.size(), 12U) << "two a turn make at least seven";
  EXPECT_NEAR(rows[0].summary.median.count(), 0.001, 1e-6);
  asked.in_turns = false;
  static_cast<void>(measure(backend, asked));
  EXPECT_EQ(turns_, 6U);
}

TEST_F(Service, keeps_one_program_at_a_time_of_a_layer_beyond_the_memory) {
  std::vector<ScriptedVariant> variants;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    variants.push_back(variant(name, 1e-3));
    variants.back().weight_bytes = Bytes{std::int64_t{2} << 30};
  }
  for (const double margin : {0.1, 1.0}) {
    ScriptedBackend backend(variants);
    worker::WorkerService::MeasureRequest asked = request(true);
    asked.caches = {results::CacheMode::kNone, results::CacheMode::kWeights};
    asked.race_margin = margin;
    EXPECT_FALSE(variants_of(measure(backend, asked), results::Purpose::kFull).empty());
    int alive = 0;
    for (const std::string& event : backend.script.log) {
      alive += event.starts_with("prepare") ? 1 : event.starts_with("drop") ? -1 : 0;
      EXPECT_LE(alive, 1) << event << ", margin " << margin;
    }
  }
}

TEST_F(Service, rows_have_what_the_backend_says_and_sees_and_races_only_what_is_short) {
  ScriptedVariant a = chosen(variant("a", 1e-3));
  a.variant.attributes = {{"engine", "62"}, {"tensor_cores", "unknown"}};
  a.prepared = {{"plan", std::string(1000, 'x')}};
  a.observed.attributes = {{"tensor_cores", "yes"}};
  a.observed.readings = {{"energy_joules", {0.5, 0.4, 0.6, 3}}};
  ScriptedBackend backend({a, variant("b", 1.01e-3)});
  worker::WorkerService::MeasureRequest asked = request(true);
  asked.caches = {results::CacheMode::kNone, results::CacheMode::kWeights};
  std::size_t full = 0;
  for (const results::Measurement& row : measure(backend, asked)) {
    if (row.variant != "a") {
      EXPECT_TRUE(row.attributes.empty() && row.readings.empty());
    } else if (row.purpose == results::Purpose::kRace) {
      EXPECT_EQ(row.attributes, a.variant.attributes);
    } else {
      full += 1;
      EXPECT_EQ(row.attributes.at("tensor_cores"), "yes") << "what is seen stands above";
      EXPECT_EQ(row.attributes.at("engine"), "62");
      EXPECT_EQ(row.attributes.at("plan").size(), 1000U);
      EXPECT_EQ(row.readings.contains("energy_joules"), row.cache == results::CacheMode::kNone)
          << "of the row's own executions";
    }
  }
  EXPECT_EQ(full, 2U);
  EXPECT_EQ(std::count(backend.script.log.begin(), backend.script.log.end(), "observe a 0"), 1);
}

TEST_F(Service, a_confirmation_observes_what_takes_no_executions) {
  ScriptedVariant a = chosen(variant("a", 1e-3));
  a.observed.attributes = {{"tensor_cores", "yes"}};
  a.observed.readings = {{"energy_joules", {0.5, 0.4, 0.6, 3}}};
  ScriptedBackend backend({a});
  worker::WorkerService::MeasureRequest asked = request(false);
  asked.purpose = results::Purpose::kConfirm;
  const std::vector<results::Measurement> rows = measure(backend, asked);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].purpose, results::Purpose::kConfirm);
  EXPECT_EQ(rows[0].attributes.at("tensor_cores"), "yes");
  EXPECT_FALSE(rows[0].readings.contains("energy_joules"));
}

TEST_F(Service, races_all_variants_and_measures_the_close_ones_in_full) {
  ScriptedBackend backend({chosen(variant("a", 2e-3)),
                           variant("b", 1e-3),
                           variant("c", 1.05e-3),
                           variant("d", 1.2e-3)});
  const auto rows = measure(backend, request());
  EXPECT_THAT(variants_of(rows, results::Purpose::kRace), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(variants_of(rows, results::Purpose::kFull), ElementsAre("b", "c", "a"))
      << "a is the library's choice";
  for (const results::Measurement& row : rows) {
    EXPECT_EQ(row.key, key_of());
    EXPECT_EQ(row.library_choice, row.variant == "a");
    EXPECT_EQ(row.creation, Seconds(0.002));
    EXPECT_EQ(row.workspace.value, 128);
    EXPECT_GT(row.first_call->count(), 0.0);
    EXPECT_THAT(row.output_hash, SizeIs(16));
    EXPECT_LT(row.maximum_error.value(), 1e-5);
    EXPECT_GT(row.wall.count(), row.summary.median.count());
  }
}

TEST_F(Service, a_finalist_that_is_beaten_ends_early_and_keeps_its_row) {
  const auto scattered = [](const std::string& name, double seconds) {
    ScriptedVariant result = variant(name, seconds);
    result.scatter = 0.03;  // too much for the interval to become tight
    return result;
  };
  const auto samples = [&](double second) {
    ScriptedBackend backend({scattered("first", 1e-4), chosen(scattered("second", second))});
    std::map<std::string, std::size_t> count;
    for (const results::Measurement& row : measure(backend, request())) {
      if (row.purpose == results::Purpose::kFull) {
        EXPECT_TRUE(row.outcome.ok());
        count[row.variant] = row.samples.size();
      }
    }
    return count;
  };
  // 20 ms of budget are 200 executions; a quarter of them shows that 4% more is no winner.
  const auto slower = samples(1.04e-4);
  EXPECT_GT(slower.at("first"), 150U);
  EXPECT_GT(slower.at("second"), 20U);
  EXPECT_LT(slower.at("second"), 60U);
  // As fast as the first, but still with an interval that reaches 1% below it: measured to the end.
  EXPECT_GT(samples(1e-4).at("second"), 150U);
}

TEST_F(Service, losers_are_dropped_and_winners_prepared_only_once) {
  ScriptedBackend backend({variant("a", 1e-3), variant("b", 5e-3)});
  static_cast<void>(measure(backend, request()));
  EXPECT_THAT(
      backend.script.log,
      ElementsAre(
          "prepare a", "bind a 0", "prepare b", "bind b 0", "drop b", "observe a 0", "drop a"));
}

TEST_F(Service, the_hopeless_leave_the_race_early) {
  // The best takes 0.1 ms; its race of at most 2 ms converges. 0.3 ms is let go after a look of a
  // quarter of a millisecond, 100 ms at its first call.
  ScriptedBackend backend({variant("good", 1e-4), variant("slow", 3e-4), variant("hopeless", 0.1)});
  const auto rows = measure(backend, request());
  EXPECT_THAT(variants_of(rows, results::Purpose::kRace), ElementsAre("good", "slow", "hopeless"));
  EXPECT_LT(backend.script.enqueued["slow"].size(), 20U);
  EXPECT_THAT(backend.script.enqueued["hopeless"], SizeIs(1));
  for (const results::Measurement& row : rows) {
    if (row.variant == "hopeless") {
      EXPECT_EQ(row.samples, std::vector<Seconds>{*row.first_call});
      EXPECT_EQ(row.summary.n, 1U);
    }
  }
}

TEST_F(Service, a_margin_of_one_measures_everybody_in_full) {
  ScriptedBackend backend({variant("a", 1e-3),
                           variant("b", 1e-3),
                           variant("c", 1e-3),
                           variant("d", 1e-3),
                           variant("e", 9e-3)});
  worker::WorkerService::MeasureRequest keep_all = request();
  keep_all.race_margin = 1.0;
  EXPECT_THAT(variants_of(measure(backend, keep_all), results::Purpose::kFull), SizeIs(5));
  EXPECT_THAT(variants_of(measure(backend, request()), results::Purpose::kFull), SizeIs(2));
}

TEST_F(Service, a_single_variant_needs_no_race) {
  ScriptedBackend backend({chosen(variant("a", 1e-3))});
  const auto rows = measure(backend, request());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].purpose, results::Purpose::kFull);
  EXPECT_EQ(rows[0].reorder, Seconds(3e-6));
}

TEST_F(Service, variants_asked_for_are_measured_in_full_with_the_purpose_asked_for) {
  ScriptedBackend backend({variant("a", 1e-3), variant("b", 9e-3), variant("c", 1e-3)});
  worker::WorkerService::MeasureRequest confirm = request();
  confirm.variants = {"b", "nothing"};
  confirm.purpose = results::Purpose::kConfirm;
  const auto rows = measure(backend, confirm);
  EXPECT_THAT(variants_of(rows, results::Purpose::kConfirm), ElementsAre("b"));
  ASSERT_THAT(rows, SizeIs(2));
  const auto& unknown = rows[0].variant == "nothing" ? rows[0] : rows[1];
  EXPECT_EQ(unknown.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(unknown.outcome.reason, HasSubstr("'nothing'"));
}

TEST_F(Service, a_wrong_result_is_a_row_and_never_timed) {
  ScriptedVariant wrong = variant("wrong", 1e-6);
  wrong.wrong = true;
  ScriptedBackend backend({wrong, variant("right", 1e-3)});
  const auto rows = measure(backend, request());
  ASSERT_GE(rows.size(), 2U);
  EXPECT_EQ(rows[0].outcome.kind, results::Outcome::Kind::kWrongResult);
  EXPECT_FALSE(rows[0].outcome.reason.empty());
  EXPECT_GT(rows[0].maximum_error.value(), 0.1);
  EXPECT_THAT(rows[0].samples, SizeIs(0));
  EXPECT_THAT(variants_of(rows, results::Purpose::kFull), ElementsAre("right"));
  EXPECT_THAT(backend.script.enqueued["wrong"], SizeIs(1)) << "once, to see the result";
}

TEST_F(Service, without_verification_nothing_is_compared) {
  ScriptedVariant wrong = variant("wrong", 1e-3);
  wrong.wrong = true;
  ScriptedBackend backend({wrong});
  worker::WorkerService::MeasureRequest trusting = request();
  trusting.verify = false;
  const auto rows = measure(backend, trusting);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_TRUE(rows[0].outcome.ok());
  EXPECT_FALSE(rows[0].maximum_error.has_value());
}

TEST_F(Service, failures_of_one_variant_leave_the_others_alone) {
  ScriptedVariant refused = variant("refused", 1e-3);
  refused.prepare = {results::Outcome::Kind::kUnsupported, "isa"};
  ScriptedVariant hungry = variant("hungry", 1e-3);
  hungry.throws = "bad_alloc";
  ScriptedVariant broken = variant("broken", 1e-3);
  broken.throws = "could not execute a primitive";
  ScriptedBackend backend({refused, hungry, broken, variant("works", 1e-3)});
  const auto rows = measure(backend, request());
  ASSERT_GE(rows.size(), 4U);
  EXPECT_EQ(rows[0].outcome, (results::Outcome{results::Outcome::Kind::kUnsupported, "isa"}));
  EXPECT_EQ(rows[1].outcome.kind, results::Outcome::Kind::kOutOfMemory);
  EXPECT_EQ(rows[2].outcome.kind, results::Outcome::Kind::kCrashed);
  EXPECT_THAT(rows[2].outcome.reason, HasSubstr("could not execute a primitive"));
  EXPECT_THAT(variants_of(rows, results::Purpose::kFull), ElementsAre("works"));
}

TEST_F(Service, reference_implementations_are_skipped_where_others_exist) {
  ScriptedBackend backend({variant("jit", 1e-3), reference(variant("ref", 0.4))});
  const auto rows = measure(backend, request());
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].variant, "jit");
  EXPECT_EQ(rows[1].variant, "ref");
  EXPECT_TRUE(rows[1].reference_implementation);
  EXPECT_EQ(rows[1].outcome.kind, results::Outcome::Kind::kSkipped);
  EXPECT_THAT(backend.script.log, Not(Contains("prepare ref")));
}

TEST_F(Service, a_reference_implementation_is_timed_briefly_where_nothing_else_works) {
  ScriptedVariant refused = variant("jit", 1e-3);
  refused.prepare = {results::Outcome::Kind::kUnsupported, "isa"};
  ScriptedBackend backend(
      {refused, reference(variant("ref", 0.4)), reference(variant("ref2", 0.4))});
  const auto rows = measure(backend, request());
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[1].variant, "ref");
  EXPECT_TRUE(rows[1].outcome.timed());
  EXPECT_LE(rows[1].samples.size(), 3U);
  EXPECT_GE(rows[1].samples.size(), 2U);
  EXPECT_EQ(rows[2].outcome.kind, results::Outcome::Kind::kSkipped);
}

TEST_F(Service, every_cache_mode_gets_a_row_when_nothing_can_be_measured) {
  ScriptedVariant refused = variant("jit", 1e-3);
  refused.prepare = {results::Outcome::Kind::kUnsupported, "isa"};
  ScriptedBackend backend({refused});
  worker::WorkerService::MeasureRequest both = request(true);
  both.caches = {results::CacheMode::kNone, results::CacheMode::kWeights};
  const auto rows = measure(backend, both);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].cache, results::CacheMode::kNone);
  EXPECT_EQ(rows[1].cache, results::CacheMode::kWeights);
  EXPECT_EQ(rows[1].outcome, (results::Outcome{results::Outcome::Kind::kUnsupported, "isa"}));
}

TEST_F(Service, keys_that_say_nothing_are_rows) {
  ScriptedBackend backend({variant("a", 1e-3)});
  for (const std::string text :
       {"", "v1:", "v9:conv;in=-;out=-", "nonsense\n\x01", "v1:eltwise;in=f32[-1];out="}) {
    worker::WorkerService::MeasureRequest bad;
    bad.key = {text};
    const auto rows = measure(backend, bad);
    ASSERT_THAT(rows, SizeIs(1)) << text;
    EXPECT_EQ(rows[0].outcome.kind, results::Outcome::Kind::kUnsupported);
    EXPECT_FALSE(rows[0].outcome.reason.empty());
    EXPECT_EQ(rows[0].key.text, text);
  }
}

TEST_F(Service, what_the_backend_does_not_support_is_a_row_with_its_reason) {
  ScriptedBackend backend({variant("a", 1e-3)});
  backend.supported = {results::Outcome::Kind::kUnsupported, "no bf16 on this processor"};
  const auto rows = measure(backend, request());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].outcome, backend.supported);
}

TEST_F(Service, cold_weights_rotate_beside_shared_activations) {
  ScriptedVariant cold = variant("a", 1e-4);
  cold.cold_extra = Seconds(5e-5);
  cold.weight_bytes = Bytes{4096};
  ScriptedBackend backend({cold});
  worker::WorkerService::MeasureRequest both = request(true);
  both.caches = {results::CacheMode::kNone, results::CacheMode::kWeights};
  const auto rows = measure(backend, both);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].cache, results::CacheMode::kNone);
  EXPECT_NEAR(rows[0].summary.median.count(), 1.0e-4, 1e-8);
  EXPECT_EQ(rows[1].cache, results::CacheMode::kWeights);
  EXPECT_NEAR(rows[1].summary.median.count(), 1.5e-4, 1e-8);
  EXPECT_EQ(rows[1].repetitions, 1);
  EXPECT_THAT(backend.script.log, Contains("bind a 1 shared"));
}

TEST_F(Service, all_cold_slots_share_nothing) {
  ScriptedVariant cold = variant("a", 1e-4);
  cold.weight_bytes = Bytes{4096};
  ScriptedBackend backend({cold});
  worker::WorkerService::MeasureRequest all = request(true);
  all.caches = {results::CacheMode::kAll};
  const auto rows = measure(backend, all);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].cache, results::CacheMode::kAll);
  EXPECT_THAT(backend.script.log, Contains("bind a 1"));
}

TEST_F(Service, a_layer_without_weights_has_its_activations_handed_on_before_each_sample) {
  ScriptedBackend backend({variant("a", 1e-3)});
  worker::WorkerService::MeasureRequest both = request();
  both.caches = {
      results::CacheMode::kWeights, results::CacheMode::kNone, results::CacheMode::kNone};
  const auto rows = measure(backend, both);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].cache, results::CacheMode::kNone);
  EXPECT_EQ(rows[1].cache, results::CacheMode::kWeights);
  EXPECT_EQ(rows[1].repetitions, 1);
  EXPECT_EQ(std::count(backend.script.log.begin(), backend.script.log.end(), "hand on a 0"),
            static_cast<std::ptrdiff_t>(rows[1].samples.size()));
}

TEST_F(Service, describes_how_it_measures) {
  ScriptedBackend backend({variant("a", 1e-3)});
  BackendService::Options options;
  options.last_level_cache = Bytes{65536};
  BackendService service(backend, options);
  const results::Environment environment = service.describe();
  EXPECT_EQ(environment.identity.at("backend"), "scripted");
  EXPECT_EQ(environment.facts.at("measure.last_level_cache_bytes"), "65536");
  EXPECT_TRUE(environment.facts.contains("measure.floor_seconds"));
}

TEST_F(Service, has_no_samples_of_a_mode_that_was_not_sampled) {
  ScriptedBackend backend({variant("a", 1e-3)});
  BackendService::Options options;
  options.last_level_cache = Bytes{65536};
  BackendService service(backend, options);
  try {
    static_cast<void>(service.take_samples({.fusion = true}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("no block of the mode fusion was sampled"));
  }
}

}  // namespace
}  // namespace plumb::engine
