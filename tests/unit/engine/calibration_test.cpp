// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>

#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/service/backend_service.hpp"
#include "runners/engine/service/processor_peak.hpp"
#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb::engine {
namespace {

ScriptedVariant variant(const std::string& name, double seconds, bool reference = false) {
  ScriptedVariant result;
  result.variant = {name, false, reference};
  result.hot = Seconds(seconds);
  return result;
}

constexpr auto kStrict = model::LayerSpec::MathClass::kStrict;
constexpr std::int64_t kExtents[] = {1024, 2048};

TEST(Calibration, peak_is_the_fastest_product_of_any_variant) {
  // All products take the same scripted time, so the larger one is the faster: 2 · 2048³ flops in
  // 0.1 s.
  ScriptedBackend backend(
      {variant("slow", 0.4), variant("fast", 0.1), variant("ref", 0.001, true)});
  const FlopsPerSecond peak =
      measure_peak(backend, model::DataType::kF32, kStrict, kExtents, backend.script.clock());
  EXPECT_NEAR(peak.value, 2.0 * 2048.0 * 2048.0 * 2048.0 / 0.1, 1e6);
}

/// A device that speeds up between the two runs of a sample: their difference is too short.
class SpeedingProgram final : public worker::Program, public worker::Program::DeviceClock {
 public:
  [[nodiscard]] worker::Program::DeviceClock::Sample sample(std::span<const std::size_t>) override {
    return {Seconds(0.05), Seconds(0.1), 4};
  }
  [[nodiscard]] worker::Program::DeviceClock::Sample sample_cold(
      std::size_t, Bytes, std::optional<std::size_t>) override {
    return {Seconds(0.1), Seconds(0.1), 1};
  }
  [[nodiscard]] worker::Program::Facts facts() const override { return {}; }
  void bind(std::size_t, std::span<const model::Tensor>, bool) override {}
  void refresh_activations(std::size_t) override {}
  void enqueue(std::size_t) override {}
  void synchronize() override {}
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t) override { return {}; }
};

/// A backend that names the fastest variant of each size otherwise, and executes no product whose
/// key has `too_large`.
class NamingBackend final : public worker::Backend {
 public:
  [[nodiscard]] results::Environment describe() const override { return {}; }
  [[nodiscard]] results::Outcome supports(const model::LayerKey&) const override { return {}; }
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    return {{"tile of " + key.text, true, false}};
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string&) override {
    if (!too_large.empty() && key.text.find(too_large) != std::string::npos) {
      return {nullptr, {results::Outcome::Kind::kOutOfMemory, "no memory"}};
    }
    return {std::make_unique<SpeedingProgram>(), {}};
  }

  std::string too_large;
};

TEST(Calibration, peak_of_a_device_is_what_its_longest_run_reached) {
  NamingBackend backend;
  const std::int64_t extents[] = {1024};
  double now = 0.0;
  const auto clock = [&] { return Seconds(now += 1e-3); };
  EXPECT_NEAR(measure_peak(backend, model::DataType::kF32, kStrict, extents, clock).value,
              2.0 * 1024.0 * 1024.0 * 1024.0 / 0.1,
              1.0);
}

TEST(Calibration, peak_takes_a_larger_product_whose_variants_have_other_names) {
  NamingBackend backend;
  double now = 0.0;
  const auto clock = [&] { return Seconds(now += 1e-3); };
  EXPECT_NEAR(measure_peak(backend, model::DataType::kF32, kStrict, kExtents, clock).value,
              2.0 * 2048.0 * 2048.0 * 2048.0 / 0.1,
              1.0);
}

TEST(Calibration, says_where_the_larger_product_was_not_executed) {
  NamingBackend backend;
  double now = 0.0;
  const auto clock = [&] { return Seconds(now += 1e-3); };
  for (const char* const too_large : {"", "2048"}) {
    backend.too_large = too_large;
    ::testing::internal::CaptureStderr();
    const FlopsPerSecond peak =
        measure_peak(backend, model::DataType::kF32, kStrict, kExtents, clock);
    const std::string said = ::testing::internal::GetCapturedStderr();
    const double extent = backend.too_large.empty() ? 2048.0 : 1024.0;
    EXPECT_NEAR(peak.value, 2.0 * extent * extent * extent / 0.1, 1.0);
    EXPECT_EQ(said,
              backend.too_large.empty()
                  ? ""
                  : "the peak in f32 is that of smaller products: no product of 2048 rows was "
                    "executed\n");
  }
}

TEST(Calibration, no_peak_without_support) {
  ScriptedBackend backend({variant("fast", 0.1)});
  backend.supported = {results::Outcome::Kind::kUnsupported, "no bf16 here"};
  EXPECT_DOUBLE_EQ(
      measure_peak(backend, model::DataType::kBf16, kStrict, kExtents, backend.script.clock())
          .value,
      0.0);
}

TEST(Calibration, variants_that_fail_are_passed_over) {
  ScriptedVariant refused = variant("refused", 0.001);
  refused.prepare = {results::Outcome::Kind::kUnsupported, "no"};
  ScriptedVariant broken = variant("broken", 0.001);
  broken.throws = "no";
  ScriptedBackend backend({refused, broken, variant("works", 0.2)});
  EXPECT_NEAR(
      measure_peak(backend, model::DataType::kF32, kStrict, kExtents, backend.script.clock()).value,
      2.0 * 2048.0 * 2048.0 * 2048.0 / 0.2,
      1e6);
}

TEST(Calibration, peak_of_the_processor_needs_no_library_and_a_clock_that_goes) {
  const auto peak = measure_processor_peak(model::DataType::kF32, 1, measure::steady_clock());
  if (peak) {
    EXPECT_GT(peak->value, 1e9);
    EXPECT_LT(peak->value, 1e13);
  }
  EXPECT_EQ(measure_processor_peak(model::DataType::kF32, 1, [] { return Seconds{}; }),
            std::nullopt);
  EXPECT_EQ(measure_processor_peak(model::DataType::kF64, 1, measure::steady_clock()),
            std::nullopt);
}

/// Peaks of a type and of f32.
struct TwoPeaks {
  std::optional<FlopsPerSecond> of_type;
  std::optional<FlopsPerSecond> of_floats;
};

/// Measures both in turns, and keeps the best of each: a neighbour on the core has the better
/// moments of a single measurement.
TwoPeaks measure_in_turns(model::DataType type) {
  const auto improve = [](std::optional<FlopsPerSecond>& best, model::DataType measured) {
    const auto peak = measure_processor_peak(measured, 1, measure::steady_clock());
    if (peak && (!best || best->value < peak->value)) {
      best = peak;
    }
  };
  TwoPeaks peaks;
  for (int turn = 0; turn < 5; ++turn) {
    improve(peaks.of_type, type);
    improve(peaks.of_floats, model::DataType::kF32);
  }
  return peaks;
}

TEST(Calibration, peak_of_bytes_lies_between_that_of_floats_and_what_any_core_can_do) {
  const TwoPeaks peaks = measure_in_turns(model::DataType::kS8);
  const std::optional<FlopsPerSecond>& peak = peaks.of_type;
  if (!peak) {
    GTEST_SKIP() << "the processor has no such instructions, or matrix tiles";
  }
  // 64 multiply-adds in each of two units, at 7 GHz.
  EXPECT_LT(peak->value, 2.0 * 64.0 * 2.0 * 7e9);
  EXPECT_GT(peak->value, 1e9);
#if defined(__x86_64__)
  if (peaks.of_floats && __builtin_cpu_supports("avx512vnni") != 0) {
    EXPECT_GT(peak->value, peaks.of_floats->value);  // four times as many in theory
  }
#endif
  EXPECT_EQ(measure_processor_peak(model::DataType::kS8, 1, [] { return Seconds{}; }),
            std::nullopt);
}

TEST(Calibration, peak_of_f16_is_at_least_that_of_the_floats_it_can_be_widened_to) {
  const TwoPeaks peaks = measure_in_turns(model::DataType::kF16);
  if (!peaks.of_type || !peaks.of_floats) {
    GTEST_SKIP() << "the processor has no such instructions, or matrix tiles";
  }
  EXPECT_GT(peaks.of_type->value, 0.7 * peaks.of_floats->value);
  EXPECT_LT(peaks.of_type->value, 4.0 * peaks.of_floats->value);  // twice, if it has f16
}

TEST(Calibration, bandwidth_counts_reads_and_writes) {
  // Each look at this clock takes 1 ms, so that the triad, which moves three arrays of 1 MiB, is
  // the best.
  double now = 0.0;
  const BytesPerSecond rate =
      measure_bandwidth(1, Bytes{1 << 20}, [&] { return Seconds(now += 1e-3); });
  EXPECT_NEAR(rate.value, 3.0 * (1 << 20) / 1e-3, 1.0);
}

TEST(Calibration, bandwidth_of_two_threads_is_measured_on_the_real_clock) {
  const BytesPerSecond rate = measure_bandwidth(2, Bytes{1 << 20}, measure::steady_clock());
  EXPECT_GT(rate.value, 1e7);
  EXPECT_LT(rate.value, 1e14);
}

}  // namespace
}  // namespace plumb::engine
