// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::onednn {
namespace {

using testing::HasSubstr;

const model::LayerKey kConvolution{
    "v1:conv;in=f32[1,16,14,14],f32[32,16,3,3]c,f32[32]c;out=f32[1,32,14,14];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"};

worker::WorkerProcess::Options options_with(std::map<std::string, std::string> variables) {
  worker::WorkerProcess::Options options;
  options.stack.libraries = {PLUMB_ONEDNN_LIBRARY};
  options.stack.variables = std::move(variables);
  options.search_path = {PLUMB_WORKER_FOLDER};
  return options;
}

bool any_names(const std::vector<worker::Variant>& variants, const std::string& what) {
  return std::any_of(variants.begin(), variants.end(), [&](const worker::Variant& variant) {
    return variant.text.find(what) != std::string::npos;
  });
}

TEST(OnednnWorker, an_instruction_set_limit_is_another_environment_with_fewer_implementations) {
  worker::WorkerProcess limited(options_with({{"ONEDNN_MAX_CPU_ISA", "SSE41"}}));
  const results::Environment environment = limited.describe();
  EXPECT_EQ(environment.identity.at("library.isa"), "SSE41");
  const std::vector<worker::Variant> few = limited.variants(kConvolution);
  EXPECT_TRUE(any_names(few, "sse41"));
  EXPECT_FALSE(any_names(few, "avx"));

  worker::WorkerProcess all(options_with({}));
  EXPECT_NE(all.describe().id(), environment.id());
  EXPECT_GE(all.variants(kConvolution).size(), few.size());
}

TEST(OnednnWorker, measures_a_layer_and_says_which_variant_the_library_chooses) {
  worker::WorkerProcess worker(options_with({}));
  worker::WorkerService::MeasureRequest request;
  request.key = kConvolution;
  request.sampling.budget = Seconds(0.002);
  std::vector<results::Measurement> rows;
  worker.measure(
      request, Seconds(60), [&](results::Measurement row) { rows.push_back(std::move(row)); });
  const auto chosen = std::find_if(
      rows.begin(), rows.end(), [](const results::Measurement& row) { return row.library_choice; });
  ASSERT_NE(chosen, rows.end());
  EXPECT_TRUE(chosen->outcome.timed()) << chosen->outcome.reason;
  EXPECT_GT(chosen->summary.median.count(), 0);
  ASSERT_TRUE(chosen->creation.has_value());
  EXPECT_GT(chosen->creation->count(), 0);
  for (const results::Measurement& row : rows) {
    EXPECT_NE(row.outcome.kind, results::Outcome::Kind::kWrongResult)
        << row.variant << ": " << row.outcome.reason;
  }
}

TEST(OnednnWorker, says_how_to_get_a_missing_library) {
  worker::WorkerProcess::Options options = options_with({});
  options.stack.libraries = {"/nowhere/libdnnl.so.3"};
  try {
    worker::WorkerProcess worker(options);
    static_cast<void>(worker.describe());
    FAIL() << "started without a library";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/libdnnl.so.3"));
    EXPECT_THAT(error.what(), HasSubstr("ci/setup"));
  }
}

}  // namespace
}  // namespace plumb::onednn
