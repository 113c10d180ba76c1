// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/slowed_backend.hpp"

#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "tests/unit/engine/scripted_backend.hpp"

namespace plumb::engine {
namespace {

constexpr const char* kRelu =
    "v1:eltwise;in=f32[4];out=f32[4];acc=f32;math=strict;fn=relu;parameters=[]";

Seconds executed(const std::string& slowing) {
  ScriptedVariant variant;
  variant.variant.text = "a";
  ScriptedBackend inner({variant});
  Script& script = inner.script;
  SlowedBackend backend(inner, slowing, script.clock());
  const worker::Backend::Prepared prepared = backend.prepare({kRelu}, "a");
  const std::vector<model::Tensor> operands{model::Tensor{}};
  prepared.program->bind(0, operands, false);
  prepared.program->enqueue(0);
  const Seconds begin = script.now;
  prepared.program->enqueue(0);
  return script.now - begin;
}

TEST(SlowedBackend, slows_the_chosen_keys_by_the_share) {
  EXPECT_NEAR(executed("v1:eltwise;=3").count(), 1.03e-3, 1e-6);
  EXPECT_NEAR(executed("=50").count(), 1.5e-3, 1e-6) << "all of them";
  EXPECT_NEAR(executed("v1:conv;=50").count(), 1e-3, 1e-6);
}

TEST(SlowedBackend, slows_whole_models_where_it_is_told_to) {
  const auto model_time = [](const std::string& slowing) {
    ScriptedVariant variant;
    variant.variant.text = "a";
    ScriptedBackend inner({variant});
    SlowedBackend backend(inner, slowing, inner.script.clock());
    const worker::Backend::PreparedModel prepared = backend.prepare_model({}, {});
    prepared.program->enqueue(0);
    const Seconds begin = inner.script.now;
    prepared.program->enqueue(0);
    return (inner.script.now - begin).count();
  };
  const double alone = model_time("v1:=50");
  EXPECT_NEAR(model_time("model:=5"), 1.05 * alone, 1e-3 * alone);
  EXPECT_NEAR(executed("model:=5").count(), 1e-3, 1e-6) << "layers are left as they are";
}

TEST(SlowedBackend, says_so_in_the_identity) {
  ScriptedBackend inner({});
  EXPECT_EQ(SlowedBackend(inner, "v1:a=b=3").describe().identity.at("library.slow_layers"),
            "v1:a=b=3");
}

TEST(SlowedBackend, refuses_what_is_no_slow_down) {
  ScriptedBackend inner({});
  for (const char* const text :
       {"", "3", "v1:=", "v1:=x", "v1:=-1", "v1:=nan", "v1:=1e9", "v1:=3%"}) {
    EXPECT_THROW(SlowedBackend(inner, text), Error) << text;
  }
}

}  // namespace
}  // namespace plumb::engine
