// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend does when a call of the driver fails: it says so, leaves nothing behind,
// and works again.
#include <algorithm>
#include <map>
#include <new>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "tests/unit/cuda_driver/stand_in_backend.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Every entry point of a call that a measurement of a layer makes.
const std::vector<const char*> kCalls{"cuDeviceGet",         "cuDevicePrimaryCtxRetain",
                                      "cuCtxSetCurrent",     "cuMemGetInfo_v2",
                                      "cuMemAlloc_v2",       "cuMemcpyHtoD_v2",
                                      "cuMemcpyDtoH_v2",     "cuStreamCreate",
                                      "cuStreamSynchronize", "cuStreamBeginCapture_v2",
                                      "cuStreamEndCapture",  "cuEventCreate",
                                      "cuEventRecord",       "cuEventSynchronize",
                                      "cuEventElapsedTime",  "cuGraphInstantiateWithFlags",
                                      "cuGraphUpload",       "cuGraphLaunch",
                                      "cuGraphGetNodes",     "cuGraphExecUpdate_v2",
                                      "cuModuleLoadData",    "cuModuleGetFunction",
                                      "cuLaunchKernel"};

model::LayerKey layer() {
  return {"v1:eltwise;in=f32[3,50];out=f32[3,50];acc=f32;math=strict;fn=relu;parameters=[]"};
}

/// Measures a layer as a worker does: prepared, bound twice, verified, timed and observed. Returns
/// why that failed. Empty: it did not, and the result is right.
std::string measured() {
  try {
    StandInBackend backend;
    const std::vector<worker::Variant> variants = backend.get().variants(layer());
    if (variants.empty()) {
      return "no variants";
    }
    const model::LayerSpec spec = model::parse_key(layer());
    const worker::Backend::Prepared prepared =
        backend.get().prepare(layer(), variants.front().text);
    if (!prepared.outcome.ok()) {
      return "not prepared: " + prepared.outcome.reason;
    }
    const std::vector<model::Tensor> operands = engine::random_operands(spec, 3);
    for (int i = 0; i < 2; ++i) {
      prepared.program->bind(0, operands, false);
      prepared.program->enqueue(0);
      prepared.program->synchronize();
      const results::Outcome outcome =
          engine::verify(spec, operands, prepared.program->outputs(0)).outcome;
      if (!outcome.ok()) {
        ADD_FAILURE() << "wrong, and nothing said so: " << outcome.reason;
      }
      const std::size_t slot = 0;
      auto& clock = dynamic_cast<worker::Program::DeviceClock&>(*prepared.program);
      static_cast<void>(clock.sample(std::span(&slot, 1)));
    }
    static_cast<void>(prepared.program->collect_counters(0, Seconds(1e-3)));
    return "";
  } catch (const std::bad_alloc&) {
    return "memory is short";
  } catch (const cuda::DynamicLibrary::Refusal& refusal) {
    return refusal.what();
  } catch (const Error& error) {
    return error.what();
  }
}

class BackendErrors : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    control().reset(1);
    control().set_delay(0);
    control().set_duration(Duration::kKernel, 2'000'000);
  }
};

TEST_P(BackendErrors, leave_nothing_behind_wherever_they_are) {
  ASSERT_EQ(measured(), "");
  const unsigned count = control().calls(GetParam());
  ASSERT_GT(count, 0U) << "a measurement never calls it";
  for (const int status : {1, 2}) {
    for (unsigned at = 1; at <= std::min(count, 40U); ++at) {
      control().reset(1);
      control().fail(GetParam(), at, status);
      const Living before = control().living();
      const std::string reason = measured();
      // Some failures only cost an observation, or a graph: then the result was right all the same.
      EXPECT_EQ(control().living(), before) << "call " << at << ", " << status << ": " << reason;
      EXPECT_THAT(control().findings(), IsEmpty())
          << "call " << at << ", " << status << ": " << reason;
    }
  }
  control().reset(1);
  EXPECT_EQ(measured(), "") << "it works again";
}

INSTANTIATE_TEST_SUITE_P(Calls,
                         BackendErrors,
                         ::testing::ValuesIn(kCalls),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(BackendKernels, are_loaded_again_after_a_failure) {
  control().reset(1);
  StandInBackend backend;
  control().fail("cuModuleGetFunction", 1, 1);
  const std::string variant = backend.get().variants(layer()).front().text;
  EXPECT_THROW(static_cast<void>(backend.get().prepare(layer(), variant)), cuda::Driver::Refusal);
  const model::LayerSpec spec = model::parse_key(layer());
  const worker::Backend::Prepared prepared = backend.get().prepare(layer(), variant);
  ASSERT_TRUE(prepared.outcome.ok()) << prepared.outcome.reason;
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 3);
  prepared.program->bind(0, operands, false);
  prepared.program->enqueue(0);
  prepared.program->synchronize();
  EXPECT_TRUE(engine::verify(spec, operands, prepared.program->outputs(0)).outcome.ok());
}

// A product of integers makes two tensors of its constant operand when it is bound. The first may
// still be in the making where the second one's launch fails.
TEST(BackendConstants, are_waited_for_before_their_memory_goes) {
  control().reset(1);
  StandInBackend backend;
  const model::LayerKey key{
      "v1:matmul_integer;in=u8[5,32],s8[32,16]c;out=s32[5,16];acc=s32;math=strict"};
  const worker::Backend::Prepared prepared =
      backend.get().prepare(key, backend.get().variants(key).front().text);
  ASSERT_TRUE(prepared.outcome.ok()) << prepared.outcome.reason;
  const model::LayerSpec spec = model::parse_key(key);
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 3);
  control().set_delay(2000);
  for (unsigned seed = 1; seed <= 40; ++seed) {
    control().reset(seed);
    control().fail("cuLaunchKernel", 2, 1);
    EXPECT_THROW(prepared.program->bind(0, operands, false), cuda::Driver::Refusal);
    ASSERT_THAT(control().findings(), IsEmpty()) << seed;
  }
  control().set_delay(0);
  control().reset(1);
  prepared.program->bind(0, operands, false);
  prepared.program->enqueue(0);
  prepared.program->synchronize();
  EXPECT_TRUE(engine::verify(spec, operands, prepared.program->outputs(0)).outcome.ok());
  EXPECT_THAT(control().findings(), IsEmpty());
}

/// A call that is refused only when it is made, and a layer that makes it.
struct LateRefusal {
  const char* call;
  int status;
  const char* layer;
  const char* words;

  friend void PrintTo(const LateRefusal& refusal, std::ostream* out) { *out << refusal.call; }
};

class LateRefusals : public ::testing::TestWithParam<LateRefusal> {};

TEST_P(LateRefusals, are_found_while_a_layer_is_prepared) {
  control().reset(1);
  StandInBackend backend;
  const model::LayerKey key{GetParam().layer};
  const std::vector<worker::Variant> variants = backend.get().variants(key);
  ASSERT_FALSE(variants.empty());
  control().fail(GetParam().call, 1, GetParam().status);
  const worker::Backend::Prepared refused = backend.get().prepare(key, variants.front().text);
  EXPECT_EQ(refused.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(refused.outcome.reason, HasSubstr(GetParam().words));
  EXPECT_EQ(refused.program, nullptr);
  EXPECT_TRUE(backend.get().prepare(key, variants.front().text).outcome.ok());
  EXPECT_THAT(control().findings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Calls,
    LateRefusals,
    ::testing::Values(
        LateRefusal{"cublasLtMatmul",
                    15,
                    "v1:matmul;in=f32[8,16],f32[16,4];out=f32[8,4];acc=f32;math=strict",
                    "CUBLAS_STATUS_NOT_SUPPORTED"},
        LateRefusal{"cudnnBackendExecute",
                    3000,
                    "v1:conv;in=f32[1,4,8,8],f32[4,4,3,3]c;out=f32[1,4,6,6];acc=f32;math=strict;"
                    "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]",
                    "cuDNN"},
        LateRefusal{"cuLaunchKernel",
                    701,
                    "v1:eltwise;in=f32[3,50];out=f32[3,50];acc=f32;math=strict;fn=relu;"
                    "parameters=[]",
                    "701"}),
    [](const auto& instance) { return std::string(instance.param.call); });

TEST(BackendOlderCalls, are_refused_while_a_layer_is_prepared) {
  control().reset(1);
  StandInBackend backend;
  const model::LayerKey key{"v1:matmul;in=f32[8,16],f32[16,4];out=f32[8,4];acc=f32;math=strict"};
  const std::vector<worker::Variant> variants = backend.get().variants(key);
  const auto older = std::find_if(variants.begin(), variants.end(), [](const auto& variant) {
    return variant.text.starts_with("impl=cublas;");
  });
  ASSERT_NE(older, variants.end());
  control().fail("cublas", 1, 15);
  const worker::Backend::Prepared refused = backend.get().prepare(key, older->text);
  EXPECT_EQ(refused.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(refused.outcome.reason, HasSubstr("CUBLAS_STATUS_NOT_SUPPORTED"));
  EXPECT_TRUE(backend.get().prepare(key, older->text).outcome.ok());
  EXPECT_THAT(control().findings(), IsEmpty());
}

class BackendEnds : public ::testing::TestWithParam<int> {};

TEST_P(BackendEnds, when_the_context_is_lost) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        control().fail("kernel", 2, GetParam());
        static_cast<void>(measured());
      },
      "the GPU's context is lost");
}

INSTANTIATE_TEST_SUITE_P(Statuses,
                         BackendEnds,
                         ::testing::Values(226, 700, 702, 715, 719, 721, 911));

class BackendGoesOn : public ::testing::TestWithParam<int> {};

TEST_P(BackendGoesOn, after_a_refusal) {
  control().reset(1);
  control().fail("cuLaunchKernel", 1, GetParam());
  EXPECT_THAT(measured(), ::testing::HasSubstr(std::to_string(GetParam())));
  control().reset(1);
  EXPECT_EQ(measured(), "");
}

INSTANTIATE_TEST_SUITE_P(Statuses,
                         BackendGoesOn,
                         ::testing::Values(701, 703, 704, 705, 708, 711, 712, 713, 720));

TEST(BackendLoss, ends_the_process_wherever_it_is_seen) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* const call : {"cuMemcpyDtoH_v2", "cuModuleLoadData", "cuGraphLaunch"}) {
    for (const int status : {214, 719}) {
      EXPECT_DEATH(
          {
            control().fail(call, 1, status);
            static_cast<void>(measured());
          },
          "the GPU's context is lost")
          << call;
    }
  }
}

TEST(BackendLoss, is_charged_to_the_program_that_lost_it) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        StandInBackend backend;
        const std::string variant = backend.get().variants(layer()).front().text;
        const model::LayerSpec spec = model::parse_key(layer());
        {
          const worker::Backend::Prepared prepared = backend.get().prepare(layer(), variant);
          prepared.program->bind(0, engine::random_operands(spec, 3), false);
          control().fail("kernel", control().calls("kernel") + 1, 700);
          prepared.program->enqueue(0);  // and nobody waits
        }
        std::fputs("the next program begins\n", stderr);
      },
      ::testing::Not(::testing::HasSubstr("the next program begins")));
}

}  // namespace
}  // namespace plumb::stand_in
