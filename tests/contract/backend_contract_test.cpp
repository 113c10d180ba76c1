// SPDX-License-Identifier: Apache-2.0
// What every backend promises (harness/worker/protocol/backend.hpp), over every backend that is
// built.
#include <onnx/onnx_pb.h>

#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "runners/engine/bench/model_benchmark.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/load/model_load.hpp"
#include "runners/engine/number_formats.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/contract/backend_registry.hpp"
#include "tests/contract/layer_cases.hpp"
#include "tests/contract/small_operands.hpp"
#include "tests/support/onnx_node_tests.hpp"

namespace plumb::contract {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kConvolution =
    "v1:conv;in=f32[1,8,6,6],f32[16,8,3,3]c,f32[16]c;out=f32[1,16,6,6];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";

std::vector<model::Tensor> executed(worker::Program& program, std::size_t slot) {
  program.enqueue(slot);
  program.synchronize();
  return program.outputs(slot);
}

std::string library_choice(const worker::Backend& backend, const model::LayerKey& key) {
  for (const worker::Variant& variant : backend.variants(key)) {
    if (variant.library_choice) {
      return variant.text;
    }
  }
  return {};
}

/// Lists operator tests that a library's own conventions fail.
std::map<std::string, std::string> library_limits() {
  // oneDNN 3.2; seen on rows of an attention mask that masks every key.
  const std::string maximum =
      "the library's maximum of nothing but minus infinity is the lowest finite number";
  return {{"test_attention_23_boolmask_fullymasked_row_nan_robustness_expanded", maximum},
          {"test_attention_23_fullymasked_qk_matmul_output_mode3_zero_expanded", maximum}};
}

/// Makes the backend once for a test; skips where the machine lacks it.
class BackendTest : public ::testing::Test {
 protected:
  void use(const BackendEntry& entry) {
    try {
      backend_ = entry.make();
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::kEnvironment) {
        throw;
      }
      GTEST_SKIP() << error.what();
    }
  }

  std::unique_ptr<worker::Backend> backend_;
};

class BackendContract : public BackendTest, public ::testing::WithParamInterface<BackendEntry> {
 protected:
  void SetUp() override { use(GetParam()); }

  std::unique_ptr<worker::Program> prepared(const char* key) {
    worker::Backend::Prepared result = backend_->prepare({key}, library_choice(*backend_, {key}));
    EXPECT_TRUE(result.outcome.ok()) << result.outcome.reason;
    return std::move(result.program);
  }
};

class BackendLayers : public BackendTest,
                      public ::testing::WithParamInterface<std::tuple<BackendEntry, LayerCase>> {
 protected:
  void SetUp() override { use(std::get<0>(GetParam())); }
};

/// One set of a layer's operands with the reference's results.
class Trial {
 public:
  Trial(const model::LayerSpec& spec, std::vector<model::Tensor> operands)
      : operands_(std::move(operands)), verifier_(spec, operands_) {}

  [[nodiscard]] std::vector<model::Tensor> outputs(worker::Program& program) const {
    program.bind(0, operands_, false);
    return executed(program, 0);
  }
  [[nodiscard]] results::Outcome outcome(worker::Program& program) const {
    return verifier_.verify(outputs(program)).outcome;
  }

 private:
  std::vector<model::Tensor> operands_;
  engine::Verifier verifier_;
};

/// Prints what a test met, and keeps it in the test's report.
void tell(const std::string& name, const std::vector<std::string>& variants) {
  std::string text;
  for (const std::string& variant : variants) {
    std::cout << name << ": " << variant << '\n';
    text += (text.empty() ? "" : " | ") + variant;
  }
  ::testing::Test::RecordProperty(name, text);
}

std::size_t distinct_numbers(const model::Tensor& tensor) {
  const std::vector<double> numbers = engine::read_numbers(tensor);
  return std::set<double>(numbers.begin(), numbers.end()).size();
}

TEST_P(BackendLayers, computes_every_variant_as_the_reference_does) {
  const BackendEntry& entry = std::get<0>(GetParam());
  const model::LayerKey key{std::string(std::get<1>(GetParam()).key)};
  const model::LayerSpec spec = model::parse_key(key);
  const results::Outcome support = backend_->supports(key);
  const std::vector<worker::Variant> variants = backend_->variants(key);
  if (!support.ok()) {
    EXPECT_THAT(support.reason, Not(IsEmpty()));
    EXPECT_THAT(variants, IsEmpty());
    GTEST_SKIP() << "unsupported: " << support.reason;
  }
  const Trial trial(spec, engine::random_operands(spec, 11));
  std::optional<Trial> small;
  if (model::is_integer_product(spec)) {
    small.emplace(spec, small_operands(spec, 11));
  }
  std::set<std::string> texts;
  std::vector<std::string> right;
  std::vector<std::string> saturating;
  std::size_t choices = 0;
  for (const worker::Variant& variant : variants) {
    EXPECT_TRUE(texts.insert(variant.text).second) << "twice: " << variant.text;
    choices += variant.library_choice ? 1 : 0;
    const worker::Backend::Prepared prepared = backend_->prepare(key, variant.text);
    if (!prepared.outcome.ok()) {
      EXPECT_THAT(prepared.outcome.reason, Not(IsEmpty())) << variant.text;
      EXPECT_EQ(prepared.program, nullptr) << variant.text;
      continue;
    }
    ASSERT_NE(prepared.program, nullptr) << variant.text;
    EXPECT_THAT(prepared.program->facts().implementation, Not(IsEmpty())) << variant.text;
    const results::Outcome outcome = trial.outcome(*prepared.program);
    const bool excused = small && !variant.library_choice && entry.may_saturate(variant);
    EXPECT_TRUE(outcome.ok() || excused) << variant.text << ": " << outcome.reason;
    (outcome.ok() ? right : saturating).push_back(variant.text);
    if (small) {
      const results::Outcome of_small = small->outcome(*prepared.program);
      EXPECT_TRUE(of_small.ok()) << "small operands, " << variant.text << ": " << of_small.reason;
      EXPECT_GT(distinct_numbers(small->outputs(*prepared.program).at(0)), 8U) << "tells nothing";
    }
  }
  tell("right", right);
  tell("saturating", saturating);
  EXPECT_EQ(choices, 1U);
  EXPECT_THAT(right, Not(IsEmpty()));
}

TEST_P(BackendContract, says_what_it_is) {
  EXPECT_EQ(backend_->describe().identity.at("backend"), GetParam().name);
}

TEST_P(BackendContract, refuses_unknown_types_with_a_reason) {
  const model::LayerKey key{
      "v1:matmul;in=f8e4m3[4,4],f8e4m3[4,4];out=f64[4,4];acc=f32;math=strict"};
  const results::Outcome support = backend_->supports(key);
  EXPECT_EQ(support.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(support.reason, Not(IsEmpty()));
  EXPECT_THAT(backend_->variants(key), IsEmpty());
  const worker::Backend::Prepared prepared = backend_->prepare(key, "");
  EXPECT_FALSE(prepared.outcome.ok());
  EXPECT_EQ(prepared.program, nullptr);
}

TEST_P(BackendContract, keeps_slots_apart) {
  const model::LayerSpec spec = model::parse_key({kConvolution});
  const std::unique_ptr<worker::Program> program = prepared(kConvolution);
  ASSERT_NE(program, nullptr);
  const std::vector<model::Tensor> first = engine::random_operands(spec, 1);
  const std::vector<model::Tensor> second = engine::random_operands(spec, 2);
  program->bind(0, first, false);
  program->bind(1, second, false);
  program->enqueue(0);
  program->enqueue(1);
  program->synchronize();
  EXPECT_TRUE(engine::verify(spec, first, program->outputs(0)).outcome.ok());
  EXPECT_TRUE(engine::verify(spec, second, program->outputs(1)).outcome.ok());
}

TEST_P(BackendContract, copies_its_operands) {
  const model::LayerSpec spec = model::parse_key({kConvolution});
  const std::unique_ptr<worker::Program> program = prepared(kConvolution);
  ASSERT_NE(program, nullptr);
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 1);
  std::vector<model::Tensor> passed = operands;
  program->bind(0, passed, false);
  for (model::Tensor& tensor : passed) {
    std::fill(tensor.data.begin(), tensor.data.end(), std::byte{0});
  }
  EXPECT_TRUE(engine::verify(spec, operands, executed(*program, 0)).outcome.ok());
}

TEST_P(BackendContract, shares_activations_but_not_weights) {
  const model::LayerSpec spec = model::parse_key({kConvolution});
  const std::unique_ptr<worker::Program> program = prepared(kConvolution);
  ASSERT_NE(program, nullptr);
  const std::vector<model::Tensor> first = engine::random_operands(spec, 1);
  const std::vector<model::Tensor> second = engine::random_operands(spec, 2);
  program->bind(0, first, true);
  program->bind(1, second, true);
  std::vector<model::Tensor> mixed = second;
  mixed[0] = first[0];  // slot 0's activation with slot 1's weights and bias
  EXPECT_TRUE(engine::verify(spec, mixed, executed(*program, 1)).outcome.ok());
  EXPECT_TRUE(engine::verify(spec, first, executed(*program, 0)).outcome.ok());
}

TEST_P(BackendContract, repeats_its_results) {
  const model::LayerSpec spec = model::parse_key({kConvolution});
  const std::unique_ptr<worker::Program> program = prepared(kConvolution);
  ASSERT_NE(program, nullptr);
  program->bind(0, engine::random_operands(spec, 1), false);
  const std::string hash = engine::output_hash(executed(*program, 0));
  EXPECT_EQ(engine::output_hash(executed(*program, 0)), hash);
}

TEST_P(BackendContract, passes_onnx_operator_tests) {
  const std::filesystem::path folder = test_support::node_test_folder();
  if (folder.empty()) {
    GTEST_SKIP() << "ONNX's operator tests are not here: install libonnx-testdata";
  }
  const test_support::NodeTestTally tally = test_support::run_node_tests(
      folder,
      {[&](const model::LayerSpec& spec,
           const std::vector<model::Tensor>& operands,
           std::vector<model::Tensor>& outputs) {
         const model::LayerKey key = model::to_key(spec);
         const results::Outcome support = backend_->supports(key);
         if (!support.ok()) {
           return support;
         }
         const worker::Backend::Prepared prepared =
             backend_->prepare(key, library_choice(*backend_, key));
         if (prepared.outcome.ok()) {
           prepared.program->bind(0, operands, false);
           outputs = executed(*prepared.program, 0);
         }
         return prepared.outcome;
       },
       [&](const model::Graph& graph,
           std::map<model::ValueId, model::Tensor>& values,
           std::vector<model::Tensor>& outputs) {
         const worker::Backend::PreparedModel prepared = backend_->prepare_model(graph, {});
         if (prepared.outcome.ok()) {
           std::vector<model::Tensor> operands;
           for (const model::ValueId operand : prepared.operands) {
             if (!values.contains(operand)) {
               return engine::unknown_value(graph, operand);
             }
             operands.push_back(values.at(operand));
           }
           prepared.program->bind(0, operands, false);
           outputs = executed(*prepared.program, 0);
         }
         return prepared.outcome;
       },
       library_limits()});
  std::cout << test_support::to_text(tally);
  EXPECT_THAT(tally.failed, IsEmpty());
}

worker::ExecuteRequest lenet(std::int64_t batch) {
  worker::ExecuteRequest request;
  request.name = "lenet";
  request.model = zoo::find("lenet")->build(batch, {}).SerializeAsString();
  request.sampling.budget = Seconds(0.02);
  return request;
}

TEST_P(BackendContract, executes_a_model_alike_in_every_mode) {
  worker::ExecuteRequest request = lenet(1);
  request.modes = {{}, {{.fusion = true}, {}, {}}, {{.channels_last = true}, {}, {}}};
  engine::LayerTiming timing;
  std::vector<results::Execution> executions;
  engine::ModelBenchmark(*backend_, timing, request).run([&](results::Execution execution) {
    executions.push_back(std::move(execution));
  });
  ASSERT_EQ(executions.size(), request.modes.size());
  for (const results::Execution& execution : executions) {
    if (backend_->plans_models() && execution.mode == "channels_last") {
      EXPECT_EQ(execution.row.outcome.kind, results::Outcome::Kind::kUnsupported);
      EXPECT_THAT(execution.row.outcome.reason, Not(IsEmpty()));
      continue;
    }
    EXPECT_TRUE(execution.row.outcome.timed())
        << execution.mode << ": " << execution.row.outcome.reason;
    EXPECT_FALSE(execution.row.output_hash.empty());
    EXPECT_LT(execution.row.maximum_error.value_or(0.0), 1e-4) << execution.mode;
  }
}

TEST_P(BackendContract, executes_a_model_in_eight_bits_nearly_alike) {
  worker::ExecuteRequest request = lenet(2);
  request.modes = {{}, {{.int8 = true}, {}, {}}, {{.fusion = true, .int8 = true}, {}, {}}};
  engine::LayerTiming timing;
  std::vector<results::Execution> executions;
  engine::ModelBenchmark(*backend_, timing, request).run([&](results::Execution execution) {
    executions.push_back(std::move(execution));
  });
  ASSERT_EQ(executions.size(), request.modes.size());
  if (executions[1].row.outcome.kind == results::Outcome::Kind::kUnsupported) {
    GTEST_SKIP() << executions[1].row.outcome.reason;
  }
  for (std::size_t i = 1; i < executions.size(); ++i) {
    const results::Execution& execution = executions[i];
    EXPECT_TRUE(execution.row.outcome.timed())
        << execution.mode << ": " << execution.row.outcome.reason;
    ASSERT_TRUE(execution.row.maximum_error) << execution.mode;
    EXPECT_GT(*execution.row.maximum_error, 0.0) << "nothing was rounded";
    EXPECT_LT(*execution.row.maximum_error, 0.05) << execution.mode;
  }
}

/// A convolution and a product, small enough to be executed hundreds of times over test doubles.
worker::ExecuteRequest small_classifier(std::int64_t batch) {
  zoo::GraphBuilder net("classifier", 8);
  const zoo::Wire image = net.input("image", {batch, 1, 8, 8});
  const zoo::Wire features = image.conv({.filters = 4, .kernel = 3, .same_upper = true}, "conv")
                                 .relu()
                                 .max_pool({.kernel = 2, .stride = 2});
  net.output(features.reshape({-1, 64}).matmul(net.weight("classes", {64, 10})));
  worker::ExecuteRequest request;
  request.name = "classifier";
  request.model = net.finish().SerializeAsString();
  request.sampling.budget = Seconds(0.02);
  return request;
}

TEST_P(BackendContract, answers_under_load_as_it_does_alone) {
  for (const loadgen::RequestedLoad::Scenario scenario :
       {loadgen::RequestedLoad::Scenario::kSingleStream,
        loadgen::RequestedLoad::Scenario::kMultiStream,
        loadgen::RequestedLoad::Scenario::kServer,
        loadgen::RequestedLoad::Scenario::kOffline}) {
    worker::LoadRequest request;
    request.buckets = {{1, small_classifier(1)}, {4, small_classifier(4)}};
    request.batches = {.maximum_batch = 4, .timeout = {}, .lanes = 1};
    request.load.scenario = scenario;
    request.load.fixed_duration = Seconds(0.1);
    request.load.stall_limit = Seconds(30.0);
    if (scenario == loadgen::RequestedLoad::Scenario::kMultiStream) {
      request.load.samples_per_query = 4;
    }
    if (scenario == loadgen::RequestedLoad::Scenario::kServer) {
      request.load.latency_limit = Seconds(10.0);
      request.load.target_rate = 100.0;
    }
    engine::LayerTiming timing;
    const auto clock = loadgen::make_steady_load_clock();
    const results::ScenarioResult load = load_model(
        *backend_,
        timing,
        [] { return measure::read_disturbance(); },
        *clock,
        request,
        [](const worker::LoadRequest::Progress& /*progress*/) {});
    if (load.outcome.kind == results::Outcome::Kind::kUnsupported) {
      GTEST_SKIP() << load.outcome.reason;
    }
    ASSERT_TRUE(load.outcome.ok()) << load.outcome.reason;
    ASSERT_TRUE(load.agreement);
    EXPECT_EQ(load.agreement->samples, 8U);
    EXPECT_LT(load.agreement->maximum_difference, 1e-4);
    EXPECT_EQ(load.result->samples_completed, load.result->samples_issued);
    EXPECT_EQ(load.result->samples_failed, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends,
                         BackendContract,
                         ::testing::ValuesIn(backends().begin(), backends().end()),
                         [](const auto& instance) { return std::string(instance.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Backends,
    BackendLayers,
    ::testing::Combine(::testing::ValuesIn(backends().begin(), backends().end()),
                       ::testing::ValuesIn(layer_cases().begin(), layer_cases().end())),
    [](const auto& instance) {
      return std::string(std::get<0>(instance.param).name) + "_" +
             std::string(std::get<1>(instance.param).name);
    });

// Without any backend built there is nothing to test.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BackendContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BackendLayers);

}  // namespace
}  // namespace plumb::contract
