// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/error.hpp"
#include "runners/engine/profile/address_sampler.hpp"
#include "runners/engine/profile/model_requests.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb::engine {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Backend whose library writes code below the folder that it is told.
class DumpingBackend final : public worker::Backend {
 public:
  explicit DumpingBackend(worker::Backend& backend) : backend_(backend) {}
  [[nodiscard]] results::Environment describe() const override { return backend_.describe(); }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override {
    return backend_.supports(key);
  }
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    return backend_.variants(key);
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override {
    return backend_.prepare(key, variant);
  }
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override {
    return backend_.prepare_model(graph, options);
  }
  bool dump_generated_code(const std::filesystem::path& folder) override {
    std::filesystem::create_directories(folder / ".debug/jit");
    std::ofstream(folder / ".debug/jit/jit-1.dump") << "code";
    std::ofstream(folder / ".debug/jit/other.txt") << "words";
    return true;
  }

 private:
  worker::Backend& backend_;
};

/// A model of one layer, which the scripted backend executes in three steps.
class ModelSamples : public ::testing::Test {
 protected:
  ModelSamples() {
    onnx::ModelProto model;
    const auto status =
        onnx::OnnxParser::Parse(model,
                                "<ir_version: 8, opset_import: [\"\": 17]>"
                                "g (float[1,64] x) => (float[1,64] y) { y = Relu(x) }");
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    request_.model.name = "relu";
    request_.model.model = model.SerializeAsString();
    request_.folder = folder_.path();
    request_.budget = Seconds(0.95);
    variant_.variant.text = "impl=scripted";
    variant_.steps = 3;
  }

  worker::Profile sampled() {
    ScriptedBackend scripted({variant_});
    DumpingBackend backend(scripted);
    return sample_model(backend, scripted.script.clock(), request_);
  }

  TemporaryFolder folder_;
  worker::Profile::Request request_;
  ScriptedVariant variant_{};
};

TEST_F(ModelSamples, come_from_pairs_of_blocks_of_equal_executions) {
  const results::SampledProfile samples = sampled().samples;
  ASSERT_EQ(samples.blocks.size(), 10U);  // of 0.05 s with samples and as long without
  for (const results::SampledProfile::Block& block : samples.blocks) {
    EXPECT_EQ(block.executions, 50U);  // of 1 ms each
    EXPECT_NEAR(block.sampled.count(), 0.05, 1e-4);
    EXPECT_NEAR(block.unsampled.count(), 0.05, 1e-4);
  }
  EXPECT_EQ(samples.asked_rate, 1000.0);
  EXPECT_EQ(samples.lost, 0U);
}

TEST_F(ModelSamples, come_from_blocks_that_are_long_enough_though_executions_were_disturbed) {
  for (variant_.disturbed = 1; variant_.disturbed <= 3; ++variant_.disturbed) {
    const results::SampledProfile samples = sampled().samples;
    ASSERT_FALSE(samples.blocks.empty());
    EXPECT_EQ(samples.blocks[0].executions, 50U) << variant_.disturbed;
  }
}

TEST_F(ModelSamples, a_long_execution_is_a_block_by_itself) {
  variant_.hot = Seconds(0.7);
  const results::SampledProfile samples = sampled().samples;
  ASSERT_EQ(samples.blocks.size(), 1U);
  EXPECT_EQ(samples.blocks[0].executions, 1U);
}

TEST_F(ModelSamples, end_within_the_time_of_their_request) {
  request_.within = Seconds(0.85);
  // Eight pairs of 0.1 s, since preparing takes some milliseconds.
  EXPECT_EQ(sampled().samples.blocks.size(), 8U);
}

TEST_F(ModelSamples, are_refused_where_the_time_is_too_short_for_intervals) {
  request_.within = Seconds(0.5);
  try {
    static_cast<void>(sampled());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("of 0.5 s are left once it is prepared"));
  }
}

TEST_F(ModelSamples, tell_the_layers_keys_and_variants_of_steps) {
  const results::SampledProfile samples = sampled().samples;
  ASSERT_EQ(samples.steps.size(), 3U);
  EXPECT_THAT(samples.steps[0].layers, ElementsAre(0));
  EXPECT_THAT(samples.steps[0].key, HasSubstr("relu"));
  EXPECT_EQ(samples.steps[0].variant, "impl=scripted");
  EXPECT_FALSE(samples.mappings.empty());
}

TEST_F(ModelSamples, of_a_layer_alone_are_of_the_librarys_choice_and_all_its_steps) {
  ScriptedVariant choice = variant_;
  choice.variant.text = "impl=chosen";
  choice.variant.library_choice = true;
  ScriptedBackend backend({variant_, choice});
  request_.layer = "v1:relu;in=f32[1,64];out=f32[1,64]";
  const model::TensorType type{model::DataType::kF32, {1, 64}};
  const model::Tensor operand{type, std::vector<std::byte>(64 * sizeof(float))};
  const results::SampledProfile samples =
      sample_layer(backend, backend.script.clock(), {&operand, 1}, request_).samples;
  EXPECT_THAT(backend.script.log, Contains("prepare impl=chosen"));
  EXPECT_EQ(samples.blocks.size(), 10U);
  ASSERT_EQ(samples.steps.size(), 3U);
  EXPECT_EQ(samples.steps[2].key, request_.layer);
  EXPECT_EQ(samples.steps[2].variant, "impl=chosen");
  backend.supported = {results::Outcome::Kind::kUnsupported, "no such layer"};
  try {
    static_cast<void>(sample_layer(backend, backend.script.clock(), {&operand, 1}, request_));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("no such layer"));
  }
}

TEST_F(ModelSamples, use_the_clock_that_was_asked_for) {
  request_.clock = results::SampledProfile::Clock::kTimer;
  EXPECT_EQ(sampled().samples.clock, results::SampledProfile::Clock::kTimer);
}

TEST_F(ModelSamples, come_with_the_code_that_the_library_wrote) {
  const worker::Profile profile = sampled();
  EXPECT_THAT(profile.code_files, ElementsAre("code-0.dump"));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_.path() / "code-0.dump"));
}

TEST_F(ModelSamples, come_with_the_perf_map_that_a_library_wrote) {
  const std::filesystem::path map = fmt::format("/tmp/perf-{}.map", ::getpid());
  std::filesystem::create_symlink("/etc/hostname", map);
  EXPECT_THAT(sampled().code_files, Not(Contains("perf.map"))) << "a link may lead to any file";
  std::filesystem::remove(map);
  std::ofstream(map) << "1000 20 kernel\n";
  EXPECT_THAT(sampled().code_files, Contains("perf.map"));
  std::filesystem::remove(map);
  std::ifstream copy(folder_.path() / "perf.map");
  std::string line;
  std::getline(copy, line);
  EXPECT_EQ(line, "1000 20 kernel");
}

TEST_F(ModelSamples, a_model_that_cannot_be_executed_is_an_error_of_the_user) {
  variant_.throws = "broken";
  EXPECT_ANY_THROW(static_cast<void>(sampled()));
  variant_.throws.clear();
  variant_.wrong_at_once = true;
  try {
    static_cast<void>(sampled());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("cannot be profiled"));
  }
}

TEST(MappedCode, has_this_executable_with_its_build_id) {
  const auto address = reinterpret_cast<std::uint64_t>(&read_mapped_code);
  const std::vector<results::SampledProfile::Mapping> mappings = read_mapped_code();
  const auto own = std::find_if(mappings.begin(), mappings.end(), [&](const auto& mapping) {
    return address >= mapping.begin && address < mapping.end;
  });
  ASSERT_NE(own, mappings.end());
  EXPECT_EQ(own->path, std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_TRUE(std::is_sorted(mappings.begin(), mappings.end(), [](const auto& a, const auto& b) {
    return a.begin < b.begin;
  }));
  const auto with_id = std::count_if(mappings.begin(), mappings.end(), [](const auto& mapping) {
    return mapping.build_id.size() == 40;  // digits of a SHA-1, as the linker writes it
  });
  EXPECT_GT(with_id, 0);
}

}  // namespace
}  // namespace plumb::engine
