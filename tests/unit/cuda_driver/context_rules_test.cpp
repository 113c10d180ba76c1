// SPDX-License-Identifier: Apache-2.0
// Rules of contexts, memory and errors, as the driver's manual states them.
#include <cmath>
#include <thread>

#include "harness/base/error.hpp"
#include "runners/cuda/exec/kernel_library.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/unit/cuda_driver/stand_in_device.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class StandInContexts : public StandInTest {};

TEST_F(StandInContexts, have_every_entry_point_that_the_backend_loads) {
  cuda::abi::for_each_graph_call(driver().graph_calls(), [](const auto& call, const char* name) {
    EXPECT_NE(call, nullptr) << name;
  });
}

TEST_F(StandInContexts, say_that_they_are_no_gpu) {
  results::Environment environment;
  device_.describe(environment);
  EXPECT_THAT(environment.identity.at("gpu"), HasSubstr("no GPU"));
  EXPECT_EQ(environment.identity.at("driver"), "test double");
}

/// Returns the message with which a choice of a device is refused.
std::string refusal_of(const cuda::Driver& driver, const std::string& choice) {
  try {
    const cuda::Device device(driver, choice);
    return "chosen: " + device.uuid();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    return error.what();
  }
}

TEST_F(StandInContexts, are_of_the_device_that_is_chosen) {
  control().set_devices(3);
  const cuda::Device second(driver(), "1");
  results::Environment environment;
  second.describe(environment);
  EXPECT_EQ(environment.identity.at("gpu.uuid"), second.uuid());
  EXPECT_EQ(environment.facts.at("gpu.index"), "1");
  EXPECT_EQ(environment.facts.at("gpu.temperature_celsius"), "21") << "NVML is asked about it";
  EXPECT_NE(second.uuid(), device_.uuid());
  EXPECT_EQ(cuda::Device(driver(), second.uuid()).number(), second.number());
  EXPECT_EQ(cuda::Device(driver(), "").uuid(), device_.uuid());
  EXPECT_EQ(control().device(), 0);
  context_.reset();
  {
    const cuda::Device::Context reserved(second);
    EXPECT_EQ(control().device(), 1);
    // Another worker may have another device, and not this one.
    EXPECT_NO_THROW(cuda::Device::Context::Lock(cuda::Device(driver(), "2").uuid()));
    EXPECT_THROW(cuda::Device::Context::Lock(second.uuid()), Error);
  }
  EXPECT_EQ(control().device(), -1);
  EXPECT_THAT(findings(), IsEmpty());
  context_.emplace(device_);
}

TEST_F(StandInContexts, of_a_device_that_is_not_there_are_refused_with_those_that_are) {
  control().set_devices(2);
  const std::string other = cuda::Device(driver(), "1").uuid();
  for (const char* const choice : {"2", "-1", "99999999999", "1x", "GPU-0", "gpu"}) {
    const std::string text = refusal_of(driver(), choice);
    EXPECT_THAT(text, HasSubstr("no such GPU")) << choice;
    EXPECT_THAT(text, HasSubstr("0 " + device_.uuid())) << choice;
    EXPECT_THAT(text, HasSubstr("1 " + other)) << choice;
  }
  EXPECT_THAT(refusal_of(driver(), "GPU-dddd"), HasSubstr("several GPUs begin so"));
  control().set_devices(1);
  EXPECT_EQ(refusal_of(driver(), "GPU-dddd"), "chosen: " + device_.uuid());
}

TEST_F(StandInContexts, are_current_in_one_thread_at_a_time) {
  int status = 0;
  std::thread([&] {
    cuda::abi::DevicePointer memory = 0;
    status = cu().mem_alloc(&memory, 16);
  }).join();
  EXPECT_EQ(status, 201);  // CUDA_ERROR_INVALID_CONTEXT
}

TEST_F(StandInContexts, are_destroyed_with_the_last_reference) {
  {
    const cuda::Device::Memory memory(driver(), 16);
    cuda::abi::Context again = nullptr;
    ASSERT_EQ(cu().primary_context_retain(&again, 0), 0);
    ASSERT_EQ(cu().primary_context_release(0), 0);
    EXPECT_EQ(cu().context_synchronize(), 0) << "one reference is left";
  }
  context_.reset();
  EXPECT_EQ(cu().context_synchronize(), 709);  // CUDA_ERROR_CONTEXT_IS_DESTROYED
  EXPECT_EQ(cu().primary_context_release(0), 201);
  EXPECT_THAT(findings(), HasSubstr("more often than retained"));
}

TEST_F(StandInContexts, count_what_is_left_in_them) {
  void* event = nullptr;
  ASSERT_EQ(cu().event_create(&event, 0), 0);
  context_.reset();
  EXPECT_THAT(findings(), HasSubstr("leak"));
  context_.emplace(device_);
  EXPECT_EQ(cu().event_destroy(event), 0);
}

TEST_F(StandInContexts, leave_nothing_behind) {
  const Living before = control().living();
  {
    const cuda::Device::Memory memory(driver(), 16);
    const cuda::DeviceStream stream(driver());
    const cuda::DeviceStream::Event event(driver(), true);
    const cuda::DeviceStream::Graph graph(driver(), stream, [] {});
    EXPECT_NE(control().living(), before);
  }
  EXPECT_EQ(control().living(), before);
}

TEST_F(StandInContexts, bound_the_memory) {
  control().set_memory(1 << 20);
  EXPECT_THROW(cuda::Device::Memory(driver(), 2 << 20), std::bad_alloc);
  EXPECT_EQ(cuda::Device::Memory(driver(), 1 << 19).size(), std::size_t{1} << 19);
  control().set_memory(std::size_t{4} << 30);
  cuda::abi::DevicePointer memory = 0;
  EXPECT_EQ(cu().mem_alloc(&memory, 0), 1);  // CUDA_ERROR_INVALID_VALUE
}

TEST_F(StandInContexts, find_memory_that_is_freed_twice) {
  cuda::abi::DevicePointer memory = 0;
  ASSERT_EQ(cu().mem_alloc(&memory, 16), 0);
  ASSERT_EQ(cu().mem_free(memory), 0);
  EXPECT_EQ(cu().mem_free(memory), 1);
  EXPECT_THAT(findings(), HasSubstr("free"));
}

TEST_F(StandInContexts, fill_new_memory_with_no_zeros) {
  const cuda::Device::Memory memory(driver(), 4);
  float value = 0.0F;
  cuda::download(driver(), std::as_writable_bytes(std::span(&value, 1)), memory.address());
  EXPECT_GT(value, 1e30F);
}

TEST_F(StandInContexts, fail_at_the_call_that_a_test_names) {
  control().fail("cuMemAlloc_v2", 2, 2);
  cuda::abi::DevicePointer memory = 0;
  ASSERT_EQ(cu().mem_alloc(&memory, 16), 0);
  ASSERT_EQ(cu().mem_free(memory), 0);
  EXPECT_EQ(cu().mem_alloc(&memory, 16), 2);
  EXPECT_EQ(cu().mem_alloc(&memory, 16), 0) << "an allocation that fails does no harm";
  ASSERT_EQ(cu().mem_free(memory), 0);
}

TEST_F(StandInContexts, are_lost_by_errors_that_leave_the_process_inconsistent) {
  for (const int status : {226, 700, 719, 721}) {
    const cuda::DeviceStream stream(driver());
    control().fail("kernel", 1, status);
    ASSERT_EQ(work(stream.get(), {}), 0) << "the launch itself succeeds";
    EXPECT_EQ(cu().stream_synchronize(stream.get()), status);
    cuda::abi::DevicePointer memory = 0;
    EXPECT_EQ(cu().mem_alloc(&memory, 16), status) << "any further work returns the same error";
    control().reset(1);
  }
}

TEST_F(StandInContexts, run_what_the_compiler_made) {
  const cuda::KernelLibrary::Compiler compiler;
  const std::string image = compiler.compile(
      "extern \"C\" __global__ void sum(float* out, const float* in, int count) {\n"
      "  __shared__ float part[64];\n"
      "  part[threadIdx.x] = 0;\n"
      "  for (int i = threadIdx.x; i < count; i += 64) { part[threadIdx.x] += in[i]; }\n"
      "  for (int half = 32; half > 0; half /= 2) {\n"
      "    __syncthreads();\n"
      "    if (threadIdx.x < half) { part[threadIdx.x] += part[threadIdx.x + half]; }\n"
      "  }\n"
      "  if (threadIdx.x == 0) { out[blockIdx.x] = part[0] + blockIdx.x; }\n"
      "}\n"
      "extern \"C\" __global__ void astray(float* out) { if (threadIdx.x > 0) { "
      "__syncthreads(); } out[0] = 1; }\n",
      90);
  void* module = nullptr;
  void* sum = nullptr;
  void* astray = nullptr;
  ASSERT_EQ(cu().module_load_data(&module, image.c_str()), 0);
  ASSERT_EQ(cu().module_get_function(&sum, module, "sum"), 0);
  ASSERT_EQ(cu().module_get_function(&astray, module, "astray"), 0);
  EXPECT_EQ(cu().module_get_function(&astray, module, "other"), 500);  // CUDA_ERROR_NOT_FOUND
  const cuda::DeviceStream stream(driver());
  const cuda::Device::Memory in(driver(), 1000 * sizeof(float));
  const cuda::Device::Memory out(driver(), 3 * sizeof(float));
  std::vector<float> ones(1000, 1.0F);
  cuda::upload(driver(), in.address(), std::as_bytes(std::span(ones)));
  ASSERT_EQ(cu().stream_synchronize(nullptr), 0);
  const auto launch = [&](void* function, int count, unsigned blocks, unsigned threads) {
    cuda::abi::DevicePointer to = out.address();
    cuda::abi::DevicePointer from = in.address();
    void* parameters[] = {&to, &from, &count};
    return cu().launch_kernel(
        function, blocks, 1, 1, threads, 1, 1, 0, stream.get(), parameters, nullptr);
  };
  EXPECT_EQ(launch(sum, 1000, 3, 0), 1);
  EXPECT_EQ(launch(sum, 1000, 3, 2048), 1);
  ASSERT_EQ(launch(sum, 1000, 3, 64), 0);
  stream.synchronize();
  std::vector<float> sums(3);
  cuda::download(driver(), std::as_writable_bytes(std::span(sums)), out.address());
  EXPECT_EQ(sums, (std::vector<float>{1000.0F, 1001.0F, 1002.0F}));
  EXPECT_THAT(findings(), IsEmpty());

  ASSERT_EQ(launch(sum, 1001, 1, 64), 0);
  EXPECT_EQ(cu().stream_synchronize(stream.get()), 700) << "it reads one element too far";
  control().reset(1);
  ASSERT_EQ(launch(sum, 1000, 4, 64), 0);
  EXPECT_EQ(cu().stream_synchronize(stream.get()), 700) << "it writes one element too far";
  control().reset(1);
  ASSERT_EQ(launch(astray, 0, 1, 64), 0);
  EXPECT_EQ(cu().stream_synchronize(stream.get()), 719);
  EXPECT_THAT(findings(), HasSubstr("barrier"));
  EXPECT_THAT(findings(), Not(HasSubstr("illegal-access")));
  control().reset(1);
  ASSERT_EQ(cu().module_unload(module), 0);
  EXPECT_EQ(launch(sum, 1000, 1, 64), 400);
}

TEST_F(StandInContexts, convert_binary16_as_the_format_does) {
  const cuda::KernelLibrary::Compiler compiler;
  const std::string image = compiler.compile(
      "extern \"C\" __global__ void convert(unsigned short* out, const float* in, int count) {\n"
      "  for (int i = threadIdx.x; i < count; i += 32) {\n"
      "    out[i] = half_of_float(in[i]);\n"
      "    if (half_of_float(float_of_half(out[i])) != out[i]) { out[i] = 0x1234; }\n"
      "  }\n}\n",
      90);
  std::vector<float> numbers;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float number = engine::float_from_f16(static_cast<std::uint16_t>(bits));
    if (!std::isnan(number)) {
      numbers.push_back(number);
      numbers.push_back(std::nextafter(number, 1e9F));
      numbers.push_back(number * 1.00048828125F);  // about half a step away
    }
  }
  void* module = nullptr;
  void* convert = nullptr;
  ASSERT_EQ(cu().module_load_data(&module, image.c_str()), 0);
  ASSERT_EQ(cu().module_get_function(&convert, module, "convert"), 0);
  {
    const cuda::DeviceStream stream(driver());
    const cuda::Device::Memory in(driver(), numbers.size() * sizeof(float));
    const cuda::Device::Memory out(driver(), numbers.size() * sizeof(std::uint16_t));
    cuda::upload(driver(), in.address(), std::as_bytes(std::span(numbers)));
    cuda::abi::DevicePointer to = out.address();
    cuda::abi::DevicePointer from = in.address();
    auto count = static_cast<int>(numbers.size());
    void* parameters[] = {&to, &from, &count};
    ASSERT_EQ(cu().launch_kernel(convert, 1, 1, 1, 32, 1, 1, 0, stream.get(), parameters, nullptr),
              0);
    stream.synchronize();
    std::vector<std::uint16_t> halves(numbers.size());
    cuda::download(driver(), std::as_writable_bytes(std::span(halves)), out.address());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(halves[i], engine::f16_from(numbers[i])) << numbers[i];
    }
  }
  EXPECT_EQ(cu().module_unload(module), 0);
}

}  // namespace
}  // namespace plumb::stand_in
