// SPDX-License-Identifier: Apache-2.0
// Counters without a GPU: what chips have, asked of the toolkit's CUPTI, and what is made of
// values.
#include "runners/cuda/observe/counter_reader.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <limits>

#include "harness/base/error.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"
#include "tests/unit/cuda/vendor_memory.hpp"

namespace plumb::cuda {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Loads the toolkit's CUPTI, which is then found by its name. Later ones than 13.0 answer nothing
/// without a driver, not even their version.
bool has_profiler_library() {
  const std::string path = std::string(PLUMB_TEST_CUDA_FOLDER) + "/libcupti.so";
  return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr &&
         !ProfilerLibrary().version().starts_with("CUPTI 0 ");
}

/// Tells whether it can be asked of chips: it loads another library for that, in a way that a
/// sanitizer's run-time ends the process for (RTLD_DEEPBIND).
bool knows_chips() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return has_profiler_library();
#endif
}

CounterReader::Choice choice_of(const ProfilerLibrary& library,
                                const std::string& chip,
                                const std::vector<std::string>& asked = {}) {
  return choose_metrics(asked, [&](const std::string& metric) {
    return has_metric(library, {chip, {}}, metric);
  });
}

TEST(MetricHost, counts_what_a_row_leaves_open_on_every_chip_since_turing) {
  [[maybe_unused]] const VendorMemory vendors{};
  if (!knows_chips()) {
    GTEST_SKIP() << "no CUPTI that needs no driver is here, or a sanitizer is";
  }
  const ProfilerLibrary library;
  for (const char* const chip :
       {"TU102", "TU104", "GA100", "GA102", "AD102", "GH100", "GB100", "GB102", "GB202"}) {
    const CounterReader::Choice choice = choice_of(library, chip);
    EXPECT_THAT(choice.missing, IsEmpty()) << chip;
    const CounterReader::Host host(library, {chip, {}}, choice.names());
    EXPECT_GE(host.passes(), 1U) << chip;
    EXPECT_LE(host.passes(), 9U) << chip;  // so many in CUPTI 13.0
    EXPECT_FALSE(host.image().empty()) << chip;
    EXPECT_THROW(static_cast<void>(host.values({}, 0)), Error) << "nothing was counted";
    const std::vector<std::uint8_t> empty(4096);
    EXPECT_THROW(static_cast<void>(host.values(empty, 0)), Error) << "no counts of CUPTI's";
  }
}

TEST(MetricHost, takes_each_chips_own_names) {
  [[maybe_unused]] const VendorMemory vendors{};
  if (!knows_chips()) {
    GTEST_SKIP() << "no CUPTI that needs no driver is here, or a sanitizer is";
  }
  const ProfilerLibrary library;
  EXPECT_THAT(choice_of(library, "GH100").names(),
              ElementsAre("sm__inst_executed_pipe_tensor.sum",
                          "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum",
                          "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                          "sm__inst_executed.sum",
                          "dram__bytes_read.sum",
                          "dram__bytes_write.sum",
                          "lts__t_sector_hit_rate.pct",
                          "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                          "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                          "sm__warps_active.avg.pct_of_peak_sustained_active"));
  EXPECT_THAT(choice_of(library, "AD102").names(),
              Contains("sm__inst_executed_pipe_tensor_v2.sum"));
  EXPECT_THAT(choice_of(library, "GB202").names(), Contains("dram__bytes_op_read.sum"));
  for (const char* const chip : {"TU102", "AD102", "GB100", "GB202"}) {
    EXPECT_THAT(choice_of(library, chip).names(), Not(Contains(HasSubstr("hfma2")))) << chip;
  }
  const CounterReader::Choice asked =
      choice_of(library, "GH100", {"sm__no_such.sum", "gpu__time_duration.sum"});
  EXPECT_THAT(asked.metrics,
              ElementsAre(CounterReader::Choice::Metric{
                  "gpu__time_duration.sum", "gpu__time_duration.sum", 1.0}));
  EXPECT_THAT(asked.missing, ElementsAre("sm__no_such.sum"));
}

TEST(MetricHost, refuses_unknown_chips_and_metrics) {
  [[maybe_unused]] const VendorMemory vendors{};
  if (!knows_chips()) {
    GTEST_SKIP() << "no CUPTI that needs no driver is here, or a sanitizer is";
  }
  const ProfilerLibrary library;
  try {
    static_cast<void>(has_metric(library, {"ZZ999", {}}, "sm__inst_executed.sum"));
    FAIL() << "no such chip";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("ZZ999"));
  }
  EXPECT_THROW(CounterReader::Host(library, {"GH100", {}}, {"sm__no_such.sum"}), Error);
  EXPECT_FALSE(has_metric(library, {"GH100", {}}, "sm__inst_executed")) << "summed up how?";
}

TEST(RangeProfiler, says_why_there_is_none) {
  [[maybe_unused]] const VendorMemory vendors{};
  try {
    const CounterReader::Ranges profiler;
    EXPECT_THAT(profiler.library().version(), HasSubstr("CUPTI"));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(),
                ::testing::AnyOf(HasSubstr("CUPTI: its start"), HasSubstr("libcupti")));
  }
}

TEST(ProfilerLibrary, says_what_helps) {
  [[maybe_unused]] const VendorMemory vendors{};
  if (!has_profiler_library()) {
    GTEST_SKIP() << "no CUPTI that needs no driver is here";
  }
  const ProfilerLibrary library;
  EXPECT_NO_THROW(library.check(0, "nothing"));
  try {
    library.check(abi::kInsufficientPrivileges, "which counters can be read");
    FAIL() << "a refusal";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"));
    EXPECT_THAT(error.what(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  }
}

const CounterReader::Choice& defaults() {
  static const CounterReader::Choice choice =
      choose_metrics({}, [](const std::string&) { return true; });
  return choice;
}

/// Values of the metrics above: of the tensor pipe, of HFMA2.MMA there, of all others alike.
std::vector<double> counts(double tensor, double fma, double others) {
  std::vector<double> values(defaults().metrics.size(), others);
  values[0] = tensor;
  values[1] = fma;
  return values;
}

TEST(MetricObservation, is_of_one_execution) {
  const worker::Program::Observation seen = metric_observation(
      defaults(), {counts(400, 0, 50), counts(404, 0, 50), counts(396, 0, 50)}, 4);
  const results::Reading& tensor = seen.readings.at("tensor_pipe_instructions");
  EXPECT_DOUBLE_EQ(tensor.median, 100.0);
  EXPECT_DOUBLE_EQ(tensor.low, 99.0);
  EXPECT_DOUBLE_EQ(tensor.high, 101.0);
  EXPECT_EQ(tensor.n, 3);
  EXPECT_DOUBLE_EQ(seen.readings.at("dram_read_bytes").median, 12.5) << "a sum: by four";
  EXPECT_DOUBLE_EQ(seen.readings.at("l2_hit_ratio").median, 0.5) << "percent";
  EXPECT_DOUBLE_EQ(seen.readings.at("sm_throughput_ratio").median, 0.5);
  EXPECT_FALSE(seen.attributes.contains("metrics_missing"));
}

TEST(MetricObservation, tensor_cores_are_used_by_what_is_no_hfma2) {
  const auto use = [](double tensor, double fma) {
    const worker::Program::Observation seen =
        metric_observation(defaults(), {counts(tensor, fma, 1)}, 1);
    EXPECT_EQ(seen.attributes.at("tensor_cores.source"), "counter");
    return seen.attributes.at("tensor_cores");
  };
  EXPECT_EQ(use(8192, 0), "yes");
  EXPECT_EQ(use(8192, 100), "yes");
  EXPECT_EQ(use(0, 0), "no");
  EXPECT_EQ(use(8192, 8192), "no") << "ordinary arithmetic in halves";
  EXPECT_EQ(use(8192, 8190), "no") << "passes differ";
}

TEST(MetricObservation, decides_nothing_that_was_not_counted) {
  const CounterReader::Choice asked{{{"sm__inst_executed.sum", "sm__inst_executed.sum", 1.0}},
                                    {"no.sum"}};
  const worker::Program::Observation seen = metric_observation(asked, {{10.0}}, 1);
  EXPECT_FALSE(seen.attributes.contains("tensor_cores"));
  EXPECT_THAT(seen.attributes.at("metrics_missing"), HasSubstr("no.sum"));
  const worker::Program::Observation none =
      metric_observation(asked, {{std::numeric_limits<double>::quiet_NaN()}}, 1);
  EXPECT_THAT(none.readings, IsEmpty()) << "missing is never zero";
  EXPECT_THAT(none.attributes.at("metrics_missing"), HasSubstr("sm__inst_executed.sum"));
}

TEST(CounterReader, fills_a_range) {
  EXPECT_EQ(executions_of_range(Seconds(1.0)), 1U);
  EXPECT_EQ(executions_of_range(Seconds(1e-3)), 2U);
  EXPECT_EQ(executions_of_range(Seconds(1e-4)), 20U);
  EXPECT_EQ(executions_of_range(Seconds(1e-9)), CounterReader::kMaxExecutions);
  EXPECT_EQ(executions_of_range(Seconds(0.0)), CounterReader::kMaxExecutions);
}

TEST(CounterReader, keeps_what_was_declared_beside_what_was_counted) {
  results::Attributes counted{{"tensor_cores", "no"}, {"tensor_cores.source", "counter"}};
  keep_declaration(counted, {{"tensor_cores", "yes"}, {"tensor_cores.source", "cuDNN's notes"}});
  EXPECT_EQ(counted.at("tensor_cores"), "no");
  EXPECT_EQ(counted.at("tensor_cores.declared"), "yes by cuDNN's notes");
  results::Attributes alone{{"tensor_cores", "no"}};
  keep_declaration(alone, {{"tensor_cores", "unknown"}});
  EXPECT_FALSE(alone.contains("tensor_cores.declared"));
}

}  // namespace
}  // namespace plumb::cuda
