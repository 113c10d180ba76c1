// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "runners/cuda/observe/profiler.hpp"

#if __has_include(<cupti.h>)
#include <cuda.h>
#include <cupti.h>
#define PLUMB_HAS_CUPTI 1
#endif

namespace plumb::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kProduct = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn";
constexpr const char* kReduce = "splitKreduce_kernel";

KernelTracer::Record launch(const char* name, std::uint64_t begin, std::uint64_t end) {
  KernelTracer::Record record;
  record.name = name;
  record.grid = {32, 8, 1};
  record.block = {128, 1, 1};
  record.registers = 168;
  record.dynamic_shared = 81920;
  record.stream = 13;
  record.begin = begin;
  record.end = end;
  return record;
}

TEST(KernelTrace, an_execution_is_its_launches_in_order) {
  // Three executions of two kernels; the profiler's order is another.
  const std::vector<KernelTracer::Record> records{launch(kReduce, 11'200, 13'200),
                                                  launch(kProduct, 0, 10'000),
                                                  launch(kProduct, 14'200, 24'300),
                                                  launch(kReduce, 25'500, 27'500),
                                                  launch(kProduct, 28'500, 38'400),
                                                  launch(kReduce, 39'600, 41'700)};
  const worker::Program::Observation seen = trace_observation(records, 3);
  const auto kernels = nlohmann::json::parse(seen.attributes.at("kernels"));
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0],
            (nlohmann::json{{"name", kProduct},
                            {"grid", {32, 8, 1}},
                            {"block", {128, 1, 1}},
                            {"registers", 168},
                            {"shared_bytes", 81920}}));
  EXPECT_EQ(kernels[1]["name"], kReduce);
  EXPECT_NEAR(seen.readings.at("kernel_seconds").median, 12.0e-6, 1e-12);
  EXPECT_EQ(seen.readings.at("kernel_seconds").n, 3);
  EXPECT_NEAR(seen.readings.at("kernel.1_seconds").median, 10.0e-6, 1e-12);
  EXPECT_NEAR(seen.readings.at("kernel.2_seconds").high, 2.1e-6, 1e-12);
  EXPECT_NEAR(seen.readings.at("launch_gap_seconds").median, 1.2e-6, 1e-12);
  EXPECT_EQ(seen.readings.at("launch_gap_seconds").n, 5);
  EXPECT_EQ(seen.attributes.at("tensor_cores"), "yes");
  EXPECT_EQ(seen.attributes.at("tensor_cores.source"), "kernel names");
  EXPECT_EQ(seen.attributes.at("tensor_cores.benanza"), "yes");
}

TEST(KernelTrace, launches_that_overlap_have_a_gap_below_zero) {
  const worker::Program::Observation seen =
      trace_observation({launch(kProduct, 0, 10'000), launch(kProduct, 9'500, 19'000)}, 2);
  EXPECT_NEAR(seen.readings.at("launch_gap_seconds").median, -0.5e-6, 1e-12);
  EXPECT_FALSE(seen.readings.contains("kernel.1_seconds")) << "one kernel: it is the whole";
}

TEST(KernelTrace, uneven_launches_are_summed_up_as_their_mean) {
  const worker::Program::Observation seen = trace_observation({launch(kProduct, 0, 10'000),
                                                               launch(kReduce, 11'000, 13'000),
                                                               launch(kProduct, 14'000, 24'000)},
                                                              2);
  EXPECT_NEAR(seen.readings.at("kernel_seconds").median, 11.0e-6, 1e-12);
  EXPECT_EQ(seen.readings.at("kernel_seconds").n, 1);
  EXPECT_THAT(trace_observation({}, 2).attributes, IsEmpty());
  EXPECT_THAT(trace_observation({launch(kProduct, 0, 1)}, 0).readings, IsEmpty());
}

TEST(KernelTrace, a_long_list_and_odd_names_are_bounded) {
  std::vector<KernelTracer::Record> many;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::string odd = "\xFF<script>" + std::to_string(i) + std::string(5000, 'k');
    many.push_back(launch(odd.c_str(), i * 10, i * 10 + 5));
  }
  const worker::Program::Observation seen = trace_observation(many, 1);
  EXPECT_LT(seen.attributes.at("kernels").size(), results::kMaxAttributeText);
  EXPECT_EQ(seen.attributes.at("kernels_omitted"), "68");
  EXPECT_EQ(nlohmann::json::parse(seen.attributes.at("kernels")).size(), kMaxKernels);
  for (const auto& [name, reading] : seen.readings) {
    EXPECT_TRUE(results::is_attribute_name(name)) << name;
  }
  EXPECT_LE(seen.readings.size(), results::kMaxAttributes);
}

TEST(KernelTracer, says_why_there_is_none) {
  try {
    const KernelTracer tracer;
    EXPECT_THAT(tracer.version(), HasSubstr("CUPTI"));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), ::testing::AnyOf(HasSubstr("CUPTI: "), HasSubstr("libcupti")));
  }
}

#ifdef PLUMB_HAS_CUPTI
CUpti_ActivityKernel10 toolkit_record(const char* name) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = 1'000;
  record.end = 11'000;
  record.streamId = 13;
  record.gridX = 32;
  record.gridY = 8;
  record.gridZ = 1;
  record.blockX = 128;
  record.blockY = record.blockZ = 1;
  record.registersPerThread = 168;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 80 << 10;
  return record;
}

template <typename Record>
std::span<const std::byte> bytes_of(const Record& record) {
  return std::as_bytes(std::span(&record, 1));
}

TEST(KernelRecord, is_read_from_what_the_toolkit_writes) {
  const std::optional<KernelTracer::Record> read =
      parse_kernel_record(bytes_of(toolkit_record(kProduct)));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, kProduct);
  EXPECT_EQ(read->grid, (std::array<std::int32_t, 3>{32, 8, 1}));
  EXPECT_EQ(read->block, (std::array<std::int32_t, 3>{128, 1, 1}));
  EXPECT_EQ(read->registers, 168U);
  EXPECT_EQ(read->static_shared, 1024);
  EXPECT_EQ(read->dynamic_shared, 80 << 10);
  EXPECT_EQ(read->stream, 13U);
  EXPECT_EQ(read->begin, 1'000U);
  EXPECT_EQ(read->end, 11'000U);
}

TEST(KernelRecord, what_is_short_or_no_kernel_is_left_out) {
  const CUpti_ActivityKernel10 sound = toolkit_record(kProduct);
  EXPECT_FALSE(
      parse_kernel_record(bytes_of(sound).first(abi::ProfilerCalls::RecordLayout::kFront - 1)));
  EXPECT_TRUE(parse_kernel_record(bytes_of(sound).first(abi::ProfilerCalls::RecordLayout::kFront)));
  CUpti_ActivityKernel10 other = sound;
  other.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  EXPECT_FALSE(parse_kernel_record(bytes_of(other)));
  other = sound;
  other.end = 999;
  EXPECT_FALSE(parse_kernel_record(bytes_of(other)));
  other = sound;
  other.gridX = -1;
  EXPECT_FALSE(parse_kernel_record(bytes_of(other)));
  other = sound;
  other.name = nullptr;
  EXPECT_EQ(parse_kernel_record(bytes_of(other)).value().name, "");
}

/// The toolkit's own walk over a buffer, which needs no GPU.
TEST(KernelRecord, buffers_are_walked_with_the_toolkits_library) {
  const std::string path = std::string(PLUMB_TEST_CUDA_FOLDER) + "/libcupti.so";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    GTEST_SKIP() << "CUPTI is not here";
  }
  abi::ProfilerCalls calls;
  std::size_t found = 0;
  abi::for_each_profiler_call(calls, [&](auto& call, const char* name) {
    void* const symbol = dlsym(library, name);
    EXPECT_NE(symbol, nullptr) << name;
    std::memcpy(&call, &symbol, sizeof call);
    found += 1;
  });
  EXPECT_EQ(found * sizeof(void*), sizeof calls);

  std::array<CUpti_ActivityKernel10, 3> records{
      toolkit_record("a"), toolkit_record("b"), toolkit_record("c")};
  const std::span<std::uint8_t> buffer(reinterpret_cast<std::uint8_t*>(records.data()),
                                       sizeof records);
  std::vector<std::string> names;
  for (const KernelTracer::Record& record : kernel_records(buffer, calls.next_record, 100)) {
    names.push_back(record.name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(kernel_records(buffer, calls.next_record, 2).size(), 2U);
  EXPECT_EQ(kernel_records(buffer.first(sizeof records[0]), calls.next_record, 9).size(), 1U);
  EXPECT_THAT(kernel_records(buffer.first(0), calls.next_record, 9), IsEmpty());
}
#endif

/// A library gone wrong: records outside the buffer, or the same one for ever.
TEST(KernelRecord, a_walk_that_leaves_the_buffer_or_stands_still_ends) {
  std::array<std::uint8_t, 256> buffer{};
  static std::array<std::uint8_t, 256> elsewhere{};
  const auto outside = [](std::uint8_t*, std::size_t, void** record) {
    *record = elsewhere.data();
    return 0;
  };
  EXPECT_THAT(kernel_records(buffer, outside, 9), IsEmpty());
  const auto still = [](std::uint8_t* begin, std::size_t, void** record) {
    *record = begin;
    return 0;
  };
  EXPECT_THAT(kernel_records(buffer, still, 9), IsEmpty()) << "zeros are no kernel, and it ended";
}

}  // namespace
}  // namespace plumb::cuda
