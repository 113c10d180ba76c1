// SPDX-License-Identifier: Apache-2.0
// Whole models and steps of their training by the CUDA backend over the stand-in: eager, captured
// and on streams. The outputs are compared with the float64 reference.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <new>

#include "harness/base/error.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/weights.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/engine/number_formats.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/support/sample_model.hpp"
#include "tests/unit/cuda_driver/stand_in_backend.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Small residual network: a stem, an identity block, a block with a projection, a classifier.
Sample residual_network() {
  return {
      "g (float[2,3,16,16] x) => (float[2,10] y) {"
      "  s = Conv<pads=[1,1,1,1]>(x, stem)"
      "  n = BatchNormalization(s, scale, bias, mean, var)  a = Relu(n)"
      "  b1 = Conv<pads=[1,1,1,1]>(a, w1)  b2 = Relu(b1)  b3 = Conv<pads=[1,1,1,1]>(b2, w2)"
      "  b4 = Add(b3, a)  b = Relu(b4)"
      "  c1 = Conv<pads=[1,1,1,1], strides=[2,2]>(b, w3)  c2 = Relu(c1)"
      "  c3 = Conv<pads=[1,1,1,1]>(c2, w4)  p = Conv<strides=[2,2]>(b, w5)"
      "  c4 = Add(c3, p)  c = Relu(c4)"
      "  d = GlobalAveragePool(c)  e = Flatten(d)  y = Gemm<transB=1>(e, w6, b6)}",
      {{"stem", {8, 3, 3, 3}},
       {"scale", {8}},
       {"bias", {8}},
       {"mean", {8}},
       {"var", {8}},
       {"w1", {8, 8, 3, 3}},
       {"w2", {8, 8, 3, 3}},
       {"w3", {16, 8, 3, 3}},
       {"w4", {16, 16, 3, 3}},
       {"w5", {16, 8, 1, 1}},
       {"w6", {10, 16}},
       {"b6", {10}}}};
}

/// Two branches from the input to an output each: nothing but the capture's fork and join ties
/// them.
Sample forked_network() {
  return {
      "g (float[1,4,8,8] x) => (float[1,4,8,8] y, float[1,4,8,8] z) {"
      "  a = Conv(x, w)  b = Relu(a)  y = Conv(b, w)"
      "  c = Sigmoid(x)  d = Conv(c, w)  z = Tanh(d)}",
      {{"w", {4, 4, 1, 1}}}};
}

/// Three products whose results are of 192 bytes: no two of them can follow each other without a
/// gap and still lie at multiples of 256 bytes.
Sample chained_products() {
  return {
      "g (float[2,24] x) => (float[2,24] y) {"
      "  a = Gemm<transB=1>(x, w1, b1)  b = Relu(a)  c = Gemm<transB=1>(b, w2, b2)  d = Relu(c)"
      "  y = Gemm<transB=1>(d, w3, b3)}",
      {{"w1", {24, 24}},
       {"b1", {24}},
       {"w2", {24, 24}},
       {"b2", {24}},
       {"w3", {24, 24}},
       {"b3", {24}}}};
}

std::vector<model::Tensor> expected(const worker::ExecuteRequest& request) {
  onnx::ModelProto model;
  model.ParseFromString(request.model);
  model::fill_weights(model, request.seed);
  model::LoadedModel loaded = model::load_model(model);
  std::map<model::ValueId, model::Tensor>& values = loaded.constants;
  engine::fold_constants(loaded.graph, values);
  const std::vector<model::Tensor> inputs = engine::model_inputs(loaded.graph, request.seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[loaded.graph.inputs[i]] = inputs[i];
  }
  std::vector<model::Tensor> outputs;
  const results::Outcome outcome = engine::reference_model_outputs(loaded.graph, values, outputs);
  EXPECT_TRUE(outcome.ok()) << outcome.reason;
  return outputs;
}

/// Names one model.
struct ModelCase {
  const char* name;
  worker::ExecuteRequest (*request)();
};

void PrintTo(const ModelCase& model_case, std::ostream* out) {
  *out << model_case.name;
}

class BackendModels : public ::testing::TestWithParam<std::tuple<ModelCase, const char*, bool>> {
 protected:
  void SetUp() override {
    control().reset(1);
    control().set_duration(Duration::kKernel, 2'000'000);
  }
};

TEST_P(BackendModels, compute_what_the_reference_does) {
  const auto& [model_case, mode, fusion] = GetParam();
  results::ExecutionMode execution = results::execution_mode_from(mode);
  execution.fusion = fusion;
  const worker::ExecuteRequest request = model_case.request();
  const std::vector<model::Tensor> wanted = expected(request);
  for (unsigned seed = 1; seed <= 3; ++seed) {
    control().reset(seed);
    {
      StandInBackend backend;
      engine::RequestedModel model(request);
      engine::ReadyModel ready = engine::prepare_mode(backend.get(), model, {execution, {}, {}});
      ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
      model.fill();
      engine::make_ready(model, measure::steady_clock(), ready);
      ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
      EXPECT_LT(engine::largest_difference(ready.outputs, wanted), 1e-4);
      EXPECT_THAT(ready.prepared.program->facts().implementation,
                  HasSubstr("execution=" + std::string(mode)));
    }
    EXPECT_THAT(control().findings(), IsEmpty());
    EXPECT_EQ(control().living(), Living{});
  }
}

class BackendTypes : public ::testing::TestWithParam<std::tuple<ModelCase, const char*>> {};

TEST_P(BackendTypes, compute_what_the_reference_makes_of_the_mode) {
  const auto& [model_case, mode] = GetParam();
  control().reset(1);
  {
    StandInBackend backend;
    engine::RequestedModel model(model_case.request());
    engine::ReadyModel plain = engine::prepare_mode(backend.get(), model, {});
    engine::ReadyModel ready =
        engine::prepare_mode(backend.get(), model, {results::execution_mode_from(mode), {}, {}});
    ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
    model.fill();
    engine::make_ready(model, measure::steady_clock(), plain);
    engine::make_ready(model, measure::steady_clock(), ready);
    ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
    engine::ReferenceComparison reference(1'000'000'000);
    const auto compared = reference.compare(model, ready);
    ASSERT_TRUE(compared.has_value());
    EXPECT_LT(compared->error, 0.02) << "it rounds where the graph does";
    const double rounded = engine::largest_difference(ready.outputs, plain.outputs);
    if (mode != std::string_view("tf32")) {  // the double may compute it in f32
      EXPECT_GT(rounded, 1e-6) << "computed in f32 after all";
    }
    EXPECT_LT(rounded, 0.05);
  }
  EXPECT_THAT(control().findings(), IsEmpty());
  EXPECT_EQ(control().living(), Living{});
}

TEST(BackendModel, waits_before_its_memory_goes) {
  control().reset(1);
  {
    StandInBackend backend;
    engine::RequestedModel model(mixed_sample().request());
    engine::ReadyModel ready = engine::prepare_mode(backend.get(), model, {});
    ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
    model.fill();
    engine::make_ready(model, measure::steady_clock(), ready);
    ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
    worker::Program& program = *ready.prepared.program;
    ASSERT_FALSE(program.input_bytes(0, 0).empty());
    ASSERT_FALSE(program.output_bytes(0, 0).empty());
    program.enqueue(0);  // nobody waits for it
  }
  EXPECT_THAT(control().findings(), IsEmpty());
  EXPECT_EQ(control().living(), Living{});
}

TEST(BackendModel, is_executed_launch_by_launch_where_its_capture_is_refused) {
  control().reset(1);
  const worker::ExecuteRequest request = mixed_sample().request();
  {
    StandInBackend backend;
    engine::RequestedModel model(request);
    engine::ReadyModel ready = engine::prepare_mode(backend.get(), model, {});
    ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
    model.fill();
    control().fail("cuStreamEndCapture", 1, 901);
    engine::make_ready(model, measure::steady_clock(), ready);
    ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
    EXPECT_LT(engine::largest_difference(ready.outputs, expected(request)), 1e-4);
    EXPECT_THAT(ready.prepared.program->facts().implementation,
                ::testing::AllOf(HasSubstr("execution=eager"), HasSubstr("901")));
  }
  EXPECT_THAT(control().findings(), IsEmpty());
  EXPECT_EQ(control().living(), Living{});
}

worker::ExecuteRequest lenet() {
  worker::ExecuteRequest request;
  request.name = "lenet";
  request.model = zoo::find("lenet")->build(2, {}).SerializeAsString();
  return request;
}

/// Step of training by the CUDA backend over the stand-in.
class TrainedModel {
 public:
  TrainedModel(const ModelCase& model_case, const char* optimizer, const char* mode)
      : model_(step_request(model_case, optimizer)) {
    ready_ =
        engine::prepare_mode(backend_.get(), model_, {results::execution_mode_from(mode), {}, {}});
    if (ready_.outcome.ok()) {
      model_.fill();
      engine::make_ready(model_, measure::steady_clock(), ready_);
    }
  }

  [[nodiscard]] const results::Outcome& outcome() const { return ready_.outcome; }
  /// Returns the outputs of the first step.
  [[nodiscard]] const std::vector<model::Tensor>& first() const { return ready_.outputs; }
  [[nodiscard]] const rewrite::TrainingStep& step() const { return *model_.step(); }

  /// Compares the first step with the reference.
  [[nodiscard]] std::optional<engine::Deviation> deviation() {
    ready_.rounding = engine::measure_rounding(model_, ready_);
    return engine::ReferenceComparison(1'000'000'000).compare(model_, ready_);
  }

  /// Executes another step and returns its outputs.
  [[nodiscard]] std::vector<model::Tensor> next() {
    worker::Program& program = *ready_.prepared.program;
    program.enqueue(0);
    program.synchronize();
    return program.outputs(0);
  }

 private:
  static worker::ExecuteRequest step_request(const ModelCase& model_case, const char* optimizer) {
    worker::ExecuteRequest request = model_case.request();
    request.training = optimizer;
    return request;
  }

  StandInBackend backend_;
  engine::RequestedModel model_;
  engine::ReadyModel ready_;
};

class BackendSteps
    : public ::testing::TestWithParam<std::tuple<ModelCase, const char*, const char*>> {
 protected:
  void SetUp() override {
    control().reset(1);
    control().set_duration(Duration::kKernel, 2'000'000);
  }
};

TEST_P(BackendSteps, compute_what_the_reference_does) {
  const auto& [model_case, optimizer, mode] = GetParam();
  {
    TrainedModel trained(model_case, optimizer, mode);
    ASSERT_TRUE(trained.outcome().ok()) << trained.outcome().reason;
    const auto deviation = trained.deviation();
    ASSERT_TRUE(deviation.has_value());
    EXPECT_FALSE(deviation->is_beyond()) << deviation->error << " beside " << deviation->most;
  }
  EXPECT_THAT(control().findings(), IsEmpty());
  EXPECT_EQ(control().living(), Living{});
}

/// Returns the outputs of three steps, one after the other. Empty: they cannot be executed.
std::vector<std::vector<model::Tensor>> three_steps(const ModelCase& model_case,
                                                    const char* optimizer,
                                                    const char* mode) {
  TrainedModel trained(model_case, optimizer, mode);
  if (!trained.outcome().ok()) {
    ADD_FAILURE() << trained.outcome().reason;
    return {};
  }
  std::vector<std::vector<model::Tensor>> outputs{trained.first()};
  outputs.push_back(trained.next());
  outputs.push_back(trained.next());
  return outputs;
}

// What is executed before a graph is captured, and to check it, is no step of the training.
TEST_P(BackendSteps, go_on_where_the_last_one_ended) {
  const auto& [model_case, optimizer, mode] = GetParam();
  const auto wanted = three_steps(model_case, optimizer, "eager");
  const auto found = three_steps(model_case, optimizer, mode);
  ASSERT_EQ(wanted.size(), 3U);
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_LT(engine::largest_difference(found[i], wanted[i]), 1e-3) << "step " << i;
  }
  EXPECT_GT(engine::largest_difference(found[1], found[0]), 1e-2) << "nothing was trained";
  EXPECT_GT(engine::largest_difference(found[2], found[1]), 1e-2) << "nothing was trained";
  EXPECT_THAT(control().findings(), IsEmpty());
  EXPECT_EQ(control().living(), Living{});
}

TEST(BackendStep, counts_itself) {
  control().reset(1);
  control().set_duration(Duration::kKernel, 2'000'000);
  TrainedModel trained(
      {"residual", [] { return residual_network().request(); }}, "adam", "captured");
  ASSERT_TRUE(trained.outcome().ok()) << trained.outcome().reason;
  const std::vector<model::Tensor> second = trained.next();
  const std::vector<std::size_t>& kinds = trained.step().kinds;
  const std::size_t of_steps = *std::max_element(kinds.begin(), kinds.end());
  ASSERT_GT(of_steps, 2U);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == of_steps) {
      EXPECT_EQ(engine::number_at(trained.first().at(i), 0), 1.0);
      EXPECT_EQ(engine::number_at(second.at(i), 0), 2.0);
    }
  }
}

/// Every entry point of a call that a model on streams makes, apart from those that end something.
const std::vector<const char*> kModelCalls{
    "cuMemAlloc_v2",      "cuMemAllocHost_v2",       "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",    "cuMemcpyHtoDAsync_v2",    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",    "cuStreamCreate",          "cuStreamSynchronize",
    "cuStreamWaitEvent",  "cuStreamBeginCapture_v2", "cuStreamEndCapture",
    "cuEventCreate",      "cuEventRecord",           "cuEventRecordWithFlags",
    "cuEventElapsedTime", "cuGraphGetNodes",         "cuGraphInstantiateWithFlags",
    "cuGraphUpload",      "cuGraphLaunch",           "cuLaunchKernel"};

/// Prepares a model on streams, times its steps, and executes it as a load does. Returns why that
/// failed. Empty: it did not, and the outputs are right.
std::string executed_on_streams(const std::vector<model::Tensor>& wanted) {
  try {
    StandInBackend backend;
    engine::RequestedModel model(mixed_sample().request());
    engine::ReadyModel ready = engine::prepare_mode(
        backend.get(), model, {results::execution_mode_from("streams"), {}, {}});
    if (!ready.outcome.ok()) {
      return "not prepared: " + ready.outcome.reason;
    }
    model.fill();
    engine::make_ready(model, measure::steady_clock(), ready);
    if (!ready.outcome.ok()) {
      return "not ready: " + ready.outcome.reason;
    }
    if (!(engine::largest_difference(ready.outputs, wanted) < 1e-4)) {
      ADD_FAILURE() << "wrong, and nothing said so";
    }
    worker::Program& program = *ready.prepared.program;
    static_cast<void>(program.profile(0));
    static_cast<void>(program.input_bytes(0, 0));
    static_cast<void>(program.output_bytes(0, 0));
    program.enqueue(0);
    program.synchronize();
    return "";
  } catch (const std::bad_alloc&) {
    return "memory is short";
  } catch (const cuda::DynamicLibrary::Refusal& refusal) {
    return refusal.what();
  } catch (const Error& error) {
    return error.what();
  }
}

class BackendModelErrors : public ::testing::TestWithParam<const char*> {};

TEST_P(BackendModelErrors, leave_nothing_behind_wherever_they_are) {
  constexpr unsigned kPlaces = 6;  // of each call, spread over all of its calls
  const std::vector<model::Tensor> wanted = expected(mixed_sample().request());
  control().reset(1);
  ASSERT_EQ(executed_on_streams(wanted), "");
  const unsigned count = control().calls(GetParam());
  ASSERT_GT(count, 0U) << "a model on streams never calls it";
  for (const int status : {1, 2}) {
    for (unsigned at = 1; at <= count; at += 1 + count / kPlaces) {
      control().reset(1);
      control().fail(GetParam(), at, status);
      const Living before = control().living();
      const std::string reason = executed_on_streams(wanted);
      // A capture that fails costs the graph alone: then the outputs are right all the same.
      EXPECT_EQ(control().living(), before) << "call " << at << ", " << status << ": " << reason;
      EXPECT_THAT(control().findings(), IsEmpty())
          << "call " << at << ", " << status << ": " << reason;
    }
  }
  control().reset(1);
  EXPECT_EQ(executed_on_streams(wanted), "") << "it works again";
}

INSTANTIATE_TEST_SUITE_P(Calls,
                         BackendModelErrors,
                         ::testing::ValuesIn(kModelCalls),
                         [](const auto& instance) { return std::string(instance.param); });

INSTANTIATE_TEST_SUITE_P(
    Models,
    BackendModels,
    ::testing::Combine(
        ::testing::Values(ModelCase{"lenet", lenet},
                          ModelCase{"residual", [] { return residual_network().request(); }},
                          ModelCase{"mixed", [] { return mixed_sample().request(); }},
                          ModelCase{"forked", [] { return forked_network().request(); }},
                          ModelCase{"products", [] { return chained_products().request(); }}),
        ::testing::Values("eager", "captured", "streams"),
        ::testing::Bool()),
    [](const auto& instance) {
      return std::string(std::get<0>(instance.param).name) + "_" + std::get<1>(instance.param) +
             (std::get<2>(instance.param) ? "_fused" : "");
    });

std::string name_of_step(const ::testing::TestParamInfo<BackendSteps::ParamType>& info) {
  std::string name = std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param) +
                     "_" + std::get<2>(info.param);
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Models,
    BackendSteps,
    ::testing::Combine(::testing::Values(ModelCase{"lenet", lenet}),
                       ::testing::Values("sgd"),
                       ::testing::Values("eager", "captured", "streams", "fusion+captured")),
    name_of_step);

INSTANTIATE_TEST_SUITE_P(Normalised,
                         BackendSteps,
                         ::testing::Combine(::testing::Values(ModelCase{
                                                "residual",
                                                [] { return residual_network().request(); }}),
                                            ::testing::Values("adam", "adamw", "lamb"),
                                            ::testing::Values("captured", "fusion+captured")),
                         name_of_step);

INSTANTIATE_TEST_SUITE_P(Scaled,
                         BackendSteps,
                         ::testing::Combine(::testing::Values(ModelCase{
                                                "residual",
                                                [] { return residual_network().request(); }}),
                                            ::testing::Values("adam+loss_scaling"),
                                            ::testing::Values("captured", "streams")),
                         name_of_step);

INSTANTIATE_TEST_SUITE_P(
    Models,
    BackendTypes,
    ::testing::Combine(
        ::testing::Values(ModelCase{"lenet", lenet},
                          ModelCase{"residual", [] { return residual_network().request(); }},
                          ModelCase{"mixed", [] { return mixed_sample().request(); }}),
        ::testing::Values("bf16", "f16", "f16+fusion", "channels_last+f16", "tf32")),
    [](const auto& instance) {
      std::string name = std::get<0>(instance.param).name + std::string("_");
      for (const char letter : std::string_view(std::get<1>(instance.param))) {
        name += letter == '+' ? '_' : letter;
      }
      return name;
    });

}  // namespace
}  // namespace plumb::stand_in
