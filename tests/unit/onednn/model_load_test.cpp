// SPDX-License-Identifier: Apache-2.0
// Whole models loaded by MLPerf's scenarios, on the real library. Limits are wide: the machine may
// be busy.
#include "runners/engine/load/model_load.hpp"

#include <gmock/gmock.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "runners/engine/bench/batch_runner.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/onednn/onednn_backend.hpp"

namespace plumb::onednn {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Convolution, a pool and a product at a batch.
std::string network(std::int64_t batch) {
  onnx::ModelProto model;
  const std::string n = std::to_string(batch);
  const std::string text =
      "<ir_version: 8, opset_import: [\"\": 17]> net (float[" + n + ",3,16,16] x) => (float[" + n +
      ",10] y) { c = Conv<pads=[1,1,1,1]>(x, w) r = Relu(c) p = GlobalAveragePool(r) "
      "f = Flatten(p) y = Gemm<transB=1>(f, v) }";
  EXPECT_TRUE(onnx::OnnxParser::Parse(model, text.c_str()).IsOK());
  const auto add = [&](const char* name, std::initializer_list<std::int64_t> dims) {
    onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t extent : dims) {
      tensor.add_dims(extent);
    }
  };
  add("w", {16, 3, 3, 3});
  add("v", {10, 16});
  return model.SerializeAsString();
}

std::string parsed(const std::string& graph) {
  onnx::ModelProto model;
  const std::string text = "<ir_version: 8, opset_import: [\"\": 17]> " + graph;
  EXPECT_TRUE(onnx::OnnxParser::Parse(model, text.c_str()).IsOK());
  return model.SerializeAsString();
}

worker::LoadRequest request_of(loadgen::RequestedLoad::Scenario scenario,
                               std::vector<std::size_t> buckets) {
  worker::LoadRequest request;
  for (const std::size_t samples : buckets) {
    worker::ExecuteRequest model;
    model.name = "net";
    model.model = network(static_cast<std::int64_t>(samples));
    request.buckets.push_back({samples, model});
  }
  request.load.scenario = scenario;
  request.load.fixed_duration = Seconds(0.3);
  request.load.warm_up = Seconds(0.02);
  request.load.stall_limit = Seconds(20.0);
  if (scenario == loadgen::RequestedLoad::Scenario::kServer) {
    request.load.latency_limit = Seconds(5.0);
    request.load.target_rate = 2000.0;
  }
  request.batches.maximum_batch = buckets.back();
  request.data_set = 300;
  return request;
}

results::ScenarioResult loaded(
    const worker::LoadRequest& request,
    std::vector<worker::LoadRequest::Progress>* progress = nullptr,
    const std::shared_ptr<worker::Backend>& backend = make_onednn_backend()) {
  engine::LayerTiming timing;
  const auto clock = loadgen::make_steady_load_clock();
  return load_model(
      *backend,
      timing,
      [] { return measure::read_disturbance(); },
      *clock,
      request,
      [&](const worker::LoadRequest::Progress& each) {
        if (progress != nullptr) {
          progress->push_back(each);
        }
      });
}

std::uint64_t samples_of(const results::ScenarioResult& load) {
  std::uint64_t samples = 0;
  for (const loadgen::BatchExecutor::BucketUse& use : load.buckets) {
    samples += use.samples;
  }
  return samples;
}

TEST(ModelLoad, single_stream_runs_in_the_issuing_thread) {
  std::vector<worker::LoadRequest::Progress> progress;
  const results::ScenarioResult load =
      loaded(request_of(loadgen::RequestedLoad::Scenario::kSingleStream, {1}), &progress);
  ASSERT_TRUE(load.outcome.ok()) << load.outcome.reason;
  EXPECT_EQ(judge_load(load), results::ScenarioResult::Verdict::kValid)
      << testing::PrintToString(results::list_reasons(load));
  EXPECT_TRUE(load.direct);
  EXPECT_EQ(load.result->queries_issued, samples_of(load));
  EXPECT_GT(load.memory.value, 0);
  EXPECT_EQ(load.result->load.total_samples, 300U);
  EXPECT_EQ(load.result->load.loaded_samples, 300U);
  ASSERT_FALSE(progress.empty());
}

TEST(ModelLoad, multi_stream_executes_a_query_as_one_batch) {
  const results::ScenarioResult load =
      loaded(request_of(loadgen::RequestedLoad::Scenario::kMultiStream, {1, 8}));
  ASSERT_TRUE(load.outcome.ok()) << load.outcome.reason;
  ASSERT_EQ(load.buckets.size(), 2U);
  EXPECT_EQ(load.buckets[0].batches, 0U);
  EXPECT_EQ(load.buckets[1].batches, load.result->queries_issued);
  EXPECT_EQ(load.buckets[1].samples, 8 * load.result->queries_issued);
}

TEST(ModelLoad, server_batches_what_waits) {
  worker::LoadRequest request = request_of(loadgen::RequestedLoad::Scenario::kServer, {1, 2, 4});
  request.batches.timeout = 5ms;
  request.batches.lanes = 2;
  const results::ScenarioResult load = loaded(request);
  ASSERT_TRUE(load.outcome.ok()) << load.outcome.reason;
  EXPECT_FALSE(load.direct);
  EXPECT_EQ(load.result->samples_completed, load.result->samples_issued);
  EXPECT_EQ(samples_of(load), load.result->samples_issued);
  EXPECT_GT(load.buckets.back().batches, 0U) << "at 2,000 a second, 10 wait for 5 ms";
}

TEST(ModelLoad, offline_answers_every_sample) {
  const results::ScenarioResult load =
      loaded(request_of(loadgen::RequestedLoad::Scenario::kOffline, {1, 4}));
  ASSERT_TRUE(load.outcome.ok()) << load.outcome.reason;
  EXPECT_EQ(load.result->samples_completed, load.result->samples_issued);
  EXPECT_GT(load.result->samples_per_second, 0.0);
}

TEST(ModelLoad, a_sample_that_gives_no_number_fails_with_its_place) {
  // The square root of the first sample is a number; of others, which are below 0, none.
  worker::LoadRequest request = request_of(loadgen::RequestedLoad::Scenario::kSingleStream, {1});
  request.buckets[0].model.model = parsed("net (float[1] x) => (float[1] y) { y = Sqrt(x) }");
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    if (engine::RequestedModel(request.buckets[0].model).make_inputs(seed)[0].as<float>()[0] >
        0.0F) {
      request.buckets[0].model.seed = seed;
      break;
    }
  }
  const results::ScenarioResult load = loaded(request);
  ASSERT_TRUE(load.outcome.ok()) << load.outcome.reason;
  EXPECT_GT(load.result->samples_failed, 0U);
  EXPECT_GT(load.result->samples_completed, 0U);
  EXPECT_THAT(load.result->first_failure, HasSubstr("output 0 is not a finite number, for sample"));
  EXPECT_EQ(judge_load(load), results::ScenarioResult::Verdict::kFailed);
}

/// Program of batches whose second sample gets the answer of the first.
class RepeatingProgram final : public worker::Program {
 public:
  explicit RepeatingProgram(std::unique_ptr<worker::Program> program)
      : program_(std::move(program)) {}
  [[nodiscard]] worker::Program::Facts facts() const override { return program_->facts(); }
  void bind(std::size_t slot, std::span<const model::Tensor> operands, bool shared) override {
    program_->bind(slot, operands, shared);
  }
  void enqueue(std::size_t slot) override { program_->enqueue(slot); }
  void synchronize() override {
    program_->synchronize();
    const std::span<const std::byte> answers = program_->output_bytes(0, 0);
    const std::size_t size = answers.size() / 2;
    std::memcpy(const_cast<std::byte*>(answers.data()) + size, answers.data(), size);
  }
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override {
    return program_->outputs(slot);
  }
  [[nodiscard]] std::span<std::byte> input_bytes(std::size_t slot, std::size_t operand) override {
    return program_->input_bytes(slot, operand);
  }
  [[nodiscard]] std::span<const std::byte> output_bytes(std::size_t slot,
                                                        std::size_t output) override {
    return program_->output_bytes(slot, output);
  }

 private:
  std::unique_ptr<worker::Program> program_;
};

/// OneDNN, wrong in batches of two.
class RepeatingBackend final : public worker::Backend {
 public:
  [[nodiscard]] results::Environment describe() const override { return backend_->describe(); }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override {
    return backend_->supports(key);
  }
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    return backend_->variants(key);
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override {
    return backend_->prepare(key, variant);
  }
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override {
    worker::Backend::PreparedModel model = backend_->prepare_model(graph, options);
    if (graph.values[graph.inputs.front()].type.dims.front() == 2) {
      model.program = std::make_unique<RepeatingProgram>(std::move(model.program));
    }
    return model;
  }
  void partition_threads(std::size_t lanes) override { parted = lanes; }
  void enter_lane(std::size_t lane) override {
    const std::scoped_lock lock(mutex_);
    entered.insert(lane);
  }

  std::size_t parted = 0;
  std::set<std::size_t> entered;

 private:
  std::unique_ptr<worker::Backend> backend_ = make_onednn_backend();
  std::mutex mutex_;
};

TEST(ModelLoad, parts_threads_between_its_lanes) {
  worker::LoadRequest request = request_of(loadgen::RequestedLoad::Scenario::kOffline, {1});
  request.batches.lanes = 3;
  const auto backend = std::make_shared<RepeatingBackend>();
  ASSERT_TRUE(loaded(request, nullptr, backend).outcome.ok());
  EXPECT_EQ(backend->parted, 3U);
  EXPECT_EQ(backend->entered, (std::set<std::size_t>{0, 1, 2}));
}

TEST(ModelLoad, compares_answers_of_batches_with_those_of_samples_alone) {
  const worker::LoadRequest request =
      request_of(loadgen::RequestedLoad::Scenario::kOffline, {1, 2});
  const results::ScenarioResult right = loaded(request);
  ASSERT_TRUE(right.outcome.ok()) << right.outcome.reason;
  ASSERT_TRUE(right.agreement);
  EXPECT_EQ(right.agreement->samples, 4U);  // two batches of two
  EXPECT_LT(right.agreement->maximum_difference, 1e-4);
  EXPECT_FALSE(right.accuracy);
  const results::ScenarioResult wrong =
      loaded(request, nullptr, std::make_shared<RepeatingBackend>());
  EXPECT_EQ(wrong.outcome.kind, results::Outcome::Kind::kWrongResult);
  EXPECT_THAT(wrong.outcome.reason,
              testing::ContainsRegex("the answer to sample [0-3] under load differs"));
  EXPECT_FALSE(wrong.result);
}

TEST(ModelLoad, logs_the_answer_to_every_sample_if_asked_for) {
  worker::LoadRequest request = request_of(loadgen::RequestedLoad::Scenario::kServer, {1, 2});
  request.accuracy_log = std::filesystem::path(testing::TempDir()) / "answers.json";
  const results::ScenarioResult load = loaded(request);
  ASSERT_TRUE(load.outcome.ok()) << load.outcome.reason;
  ASSERT_TRUE(load.accuracy);
  EXPECT_EQ(load.accuracy->load.mode, loadgen::RequestedLoad::Mode::kAccuracy);
  EXPECT_EQ(load.accuracy->load.scenario, loadgen::RequestedLoad::Scenario::kServer);
  EXPECT_EQ(load.accuracy->load.latency_limit, load.result->load.latency_limit);
  EXPECT_EQ(load.accuracy->load.target_rate, 2000.0);
  EXPECT_EQ(load.agreement->samples, load.requested.total_samples);
  std::ifstream file(request.accuracy_log);
  std::size_t answers = 0;
  for (std::string line; std::getline(file, line);) {
    answers += line.find("\"qsl_idx\"") != std::string::npos ? 1U : 0U;
  }
  EXPECT_EQ(answers, load.requested.total_samples);
  request.accuracy_log = "/nowhere/answers.json";
  EXPECT_THAT(loaded(request).outcome.reason, HasSubstr("cannot write '/nowhere/answers.json'"));
}

TEST(ModelLoad, a_model_whose_first_answer_is_no_number_is_not_loaded) {
  worker::LoadRequest request = request_of(loadgen::RequestedLoad::Scenario::kSingleStream, {1});
  request.buckets[0].model.model =
      parsed("net (float[64] x) => (float[64] y) { a = Abs(x) b = Neg(a) y = Log(b) }");
  const results::ScenarioResult load = loaded(request);
  EXPECT_EQ(load.outcome.kind, results::Outcome::Kind::kWrongResult);
  EXPECT_FALSE(load.result);
  EXPECT_EQ(judge_load(load), results::ScenarioResult::Verdict::kNotExecuted);
}

TEST(ModelLoad, a_model_that_cannot_be_batched_says_why) {
  worker::LoadRequest request = request_of(loadgen::RequestedLoad::Scenario::kOffline, {1, 2});
  const std::string fixed = parsed("net (float[1,4] x) => (float[1,4] y) { y = Relu(x) }");
  request.buckets[0].model.model = fixed;
  request.buckets[1].model.model = fixed;
  results::ScenarioResult load = loaded(request);
  EXPECT_EQ(load.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(load.outcome.reason, HasSubstr("input 0 is [1,4] for 2 samples and [1,4] for one"));
  request.buckets[0].model.model =
      parsed("net (float[1,4] x) => (float[4,1] y) { y = Transpose<perm=[1,0]>(x) }");
  request.buckets[1].model.model =
      parsed("net (float[2,4] x) => (float[4,2] y) { y = Transpose<perm=[1,0]>(x) }");
  load = loaded(request);
  EXPECT_EQ(load.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(load.outcome.reason, HasSubstr("output 0 is [4,2] for 2 samples and [4,1] for one"));
}

TEST(ModelLoad, loads_in_the_mode_and_type_that_it_is_asked_for) {
  worker::LoadRequest request = request_of(loadgen::RequestedLoad::Scenario::kMultiStream, {1, 8});
  for (worker::LoadRequest::Bucket& bucket : request.buckets) {
    bucket.model.modes[0].mode.fusion = true;
  }
  results::ScenarioResult load = loaded(request);
  ASSERT_TRUE(load.outcome.ok()) << load.outcome.reason;
  EXPECT_EQ(load.mode, "fusion");
  EXPECT_EQ(load.result->samples_failed, 0U);
  for (worker::LoadRequest::Bucket& bucket : request.buckets) {
    bucket.model.modes[0].mode.bf16 = true;
  }
  load = loaded(request);
  if (load.outcome.ok()) {  // else this processor has no bf16
    EXPECT_EQ(load.mode, "bf16+fusion");
    EXPECT_EQ(load.result->samples_failed, 0U);
  } else {
    EXPECT_EQ(load.outcome.kind, results::Outcome::Kind::kUnsupported) << load.outcome.reason;
  }
}

TEST(ModelLoad, an_unusable_model_is_an_outcome) {
  worker::LoadRequest request = request_of(loadgen::RequestedLoad::Scenario::kSingleStream, {1});
  request.buckets[0].model.model = "nonsense";
  EXPECT_EQ(loaded(request).outcome.kind, results::Outcome::Kind::kUnsupported);
}

TEST(BatchRunner, gives_each_sample_of_a_batch_its_own_answer) {
  const auto backend = make_onednn_backend();
  const worker::LoadRequest request =
      request_of(loadgen::RequestedLoad::Scenario::kOffline, {1, 4});
  engine::BatchRunner executor("net", 4);
  for (const worker::LoadRequest::Bucket& bucket : request.buckets) {
    const results::Outcome outcome = executor.add(*backend, bucket, 2, measure::steady_clock());
    ASSERT_TRUE(outcome.ok()) << outcome.reason;
  }
  const auto answers_of = [&](std::size_t bucket, std::size_t lane, std::vector<std::uint64_t> of) {
    std::vector<loadgen::SystemUnderTest::Sample> batch;
    for (const std::uint64_t index : of) {
      batch.push_back({batch.size() + 1, index});
    }
    std::vector<loadgen::Completions::Response> responses(batch.size());
    executor.execute({lane, bucket, batch}, responses);
    std::vector<float> answers(10 * batch.size());
    for (std::size_t i = 0; i < responses.size(); ++i) {
      EXPECT_EQ(responses[i].data.size(), 10 * sizeof(float));
      std::memcpy(&answers[10 * i], responses[i].data.data(), 10 * sizeof(float));
    }
    return answers;
  };
  const std::vector<float> all = answers_of(4, 1, {3, 0, 2, 1});
  ASSERT_EQ(all.size(), 40U);
  const std::uint64_t order[] = {3, 0, 2, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<float> one = answers_of(1, i % 2, {order[i]});
    for (std::size_t j = 0; j < one.size(); ++j) {
      EXPECT_NEAR(one[j], all[10 * i + j], 1e-4F) << "sample " << order[i];
    }
  }
  EXPECT_EQ(executor.batches(), 5U);
}

}  // namespace
}  // namespace plumb::onednn
