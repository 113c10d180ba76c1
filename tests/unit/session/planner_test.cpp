// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/session/work/worker_requests.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::session {
namespace {

model::TensorType tensor(std::vector<std::int64_t> dims, bool constant = false) {
  return {
      .dtype = model::DataType::kF32, .dims = std::move(dims), .constant = constant, .strides = {}};
}

model::LayerSpec matmul(std::int64_t m, std::int64_t k, std::int64_t n) {
  model::LayerSpec spec;
  spec.op = "matmul";
  spec.inputs = {tensor({m, k}), tensor({k, n}, true)};
  spec.outputs = {tensor({m, n})};
  return spec;
}

model::LayerSpec relu(std::int64_t count) {
  model::LayerSpec spec;
  spec.op = "eltwise";
  spec.inputs = {tensor({count})};
  spec.outputs = {tensor({count})};
  spec.attributes = {{"fn", std::string("relu")}, {"parameters", std::vector<double>{}}};
  return spec;
}

model::Layer layer_of(const model::LayerSpec& spec) {
  model::Layer layer;
  layer.onnx_op = spec.op;
  layer.spec = spec;
  layer.key = model::to_key(spec);
  layer.cost = model::compute_cost(spec);
  return layer;
}

/// A model of layers that share no values, so that no rewrite applies.
PlannedModel model_of(const std::string& name, const std::vector<model::LayerSpec>& specs) {
  PlannedModel model;
  model.instance.model = name;
  for (const model::LayerSpec& spec : specs) {
    model.graph.layers.push_back(layer_of(spec));
  }
  return model;
}

const std::vector<results::CacheMode> kBoth{results::CacheMode::kNone,
                                            results::CacheMode::kWeights};

results::StoredMeasurement row_of(const model::LayerKey& key,
                                  const std::string& variant,
                                  double seconds,
                                  results::Purpose purpose) {
  results::StoredMeasurement row;
  row.measurement.key = key;
  row.measurement.variant = variant;
  row.measurement.purpose = purpose;
  row.measurement.summary.n = 7;
  row.measurement.summary.median = Seconds(seconds);
  return row;
}

TEST(Planner, measures_each_key_once_and_counts_its_occurrences) {
  const std::vector<PlannedModel> models{
      model_of("a", {matmul(4, 8, 16), relu(64), matmul(4, 8, 16)}),
      model_of("b", {relu(64), matmul(4, 8, 16)})};
  const std::vector<WorkSource::Item> items = work_items(models, {}, kBoth, WorkSource::Shard{});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].key, model::to_key(matmul(4, 8, 16)));
  EXPECT_EQ(items[0].occurrences, 3);
  EXPECT_DOUBLE_EQ(items[0].weight, 3.0 * 4 * 8 * 16);
  EXPECT_EQ(items[1].occurrences, 2);
}

TEST(Planner, puts_the_heaviest_first) {
  const std::vector<PlannedModel> models{
      model_of("a", {relu(10), matmul(2, 2, 2), matmul(64, 64, 64), matmul(8, 8, 8)})};
  const std::vector<WorkSource::Item> items = work_items(models, {}, kBoth, WorkSource::Shard{});
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(items[0].key, model::to_key(matmul(64, 64, 64)));
  EXPECT_EQ(items[1].key, model::to_key(matmul(8, 8, 8)));
  for (std::size_t i = 1; i < items.size(); ++i) {
    EXPECT_GE(items[i - 1].weight, items[i].weight);
  }
}

TEST(Planner, asks_for_every_layer_in_every_cache_mode) {
  const std::vector<PlannedModel> models{model_of("a", {matmul(4, 8, 16), relu(64)})};
  const std::vector<WorkSource::Item> items = work_items(models, {}, kBoth, WorkSource::Shard{});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].caches, kBoth);
  EXPECT_EQ(items[1].caches, kBoth);
}

TEST(Planner, adds_the_types_of_modes_that_need_times_and_those_asked_for) {
  rewrite::GraphSketch g;
  const PlannedModel f32{{"a", 1, "f32"}, g.build({g.relu(g.gemm(g.input({4, 8}), 16))})};
  PlannedModel other = f32;
  other.instance.dtype = "f16";
  const std::vector<PlannedModel> models{f32, other};
  const std::vector<results::ExecutionMode> modes{
      {.best_variant = true}, {.best_variant = true, .bf16 = true, .fusion = true}, {.f16 = true}};
  const std::vector<PlannedModel> typed = models_in_other_forms(models, modes, {"tf32"});
  ASSERT_EQ(typed.size(), 2U);
  EXPECT_NE(typed[0].graph.layers[0].key.text.find("in=bf16"), std::string::npos);
  EXPECT_NE(typed[1].graph.layers[0].key.text.find("math=tf32"), std::string::npos);
  EXPECT_TRUE(models_in_other_forms(models, {}, {}).empty());
}

TEST(Planner, adds_steps_with_folded_norms_if_a_mode_folds_them) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.batch_norm(g.conv(g.input({2, 3, 4, 4}), 5, 3))});
  const auto step = [&](const char* training) {
    return PlannedModel{
        {.model = "a", .training = training},
        rewrite::training_step(graph, rewrite::parse_step_choice(training).value()).training.graph};
  };
  const std::vector<PlannedModel> models{step("sgd"), step("sgd+freeze=batch_norm")};
  const std::vector<results::ExecutionMode> modes(1, results::ExecutionMode{.folded_norms = true});
  const std::vector<PlannedModel> folded = models_in_other_forms(models, modes, {});
  ASSERT_EQ(folded.size(), 1U);
  EXPECT_EQ(folded[0].instance, models[1].instance);
  EXPECT_NE(folded[0].graph.layers.size(), models[1].graph.layers.size());
}

TEST(Planner, adds_steps_with_the_family_of_fusions_that_a_mode_switches_on) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.gemm(g.relu(g.gemm(g.input({4, 8}), 8)), 8)});
  const PlannedModel step{
      {.model = "a", .training = "sgd"},
      rewrite::training_step(graph, rewrite::parse_step_choice("sgd").value()).training.graph};
  const std::vector<PlannedModel> models(1, step);
  const std::vector<results::ExecutionMode> modes{
      {.fusion = true}, {.gemm_relu = true}, {.bf16 = true, .gemm_relu = true}};
  const std::vector<PlannedModel> joined = models_in_other_forms(models, modes, {});
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0].instance, step.instance);
  EXPECT_EQ(joined[0].graph.layers.size(), step.graph.layers.size() - 2);  // each pass' ReLU
  const auto joins = [&](std::size_t form, std::string_view type) {
    const std::vector<model::Layer>& layers = joined[form].graph.layers;
    return std::any_of(layers.begin(), layers.end(), [&](const model::Layer& layer) {
      return layer.key.text.ends_with(";epilogue=relu_backward@3") &&
             layer.key.text.find(fmt::format("in={}[", type)) != std::string::npos;
    });
  };
  EXPECT_TRUE(joins(0, "f32"));
  EXPECT_TRUE(joins(1, "bf16"));
}

TEST(Planner, measures_what_is_left_of_a_chain_when_another_takes_the_addition) {
  rewrite::GraphSketch b;
  const model::ValueId x = b.input({1, 8, 4, 4});
  const model::ValueId left = b.batch_norm(b.conv(x, 8, 3));
  const model::ValueId right = b.batch_norm(b.conv(x, 8, 1));
  PlannedModel model;
  model.graph = b.build({b.relu(b.add(left, right))});
  std::map<std::string, int> epilogues;
  for (const WorkSource::Item& item : work_items({&model, 1}, {}, kBoth, WorkSource::Shard{})) {
    const model::LayerSpec spec = model::parse_key(item.key);
    if (spec.op == "conv" && spec.has_input(2)) {  // BatchNorm is folded into it
      ++epilogues[spec.epilogue.empty() ? "none" : spec.epilogue.back().fn];
    }
  }
  EXPECT_EQ(epilogues, (std::map<std::string, int>{{"none", 2}, {"relu", 2}}));
}

TEST(Planner, gives_each_key_to_exactly_one_shard) {
  std::vector<model::LayerSpec> specs;
  for (std::int64_t i = 1; i <= 40; ++i) {
    specs.push_back(matmul(i, 3, 5));
  }
  const std::vector<PlannedModel> models{model_of("a", specs)};
  std::map<model::LayerKey, int> seen;
  for (std::uint32_t index = 1; index <= 3; ++index) {
    for (const WorkSource::Item& item :
         work_items(models, {}, kBoth, WorkSource::Shard{index, 3})) {
      ++seen[item.key];
    }
  }
  EXPECT_EQ(seen.size(), 40U);
  for (const auto& [key, count] : seen) {
    EXPECT_EQ(count, 1) << key.text;
  }
}

TEST(Planner, takes_listed_layers_with_their_counts) {
  const std::vector<model::ListedLayer> layers{{model::to_key(matmul(4, 8, 16)), 3, "shapes.toml"}};
  const std::vector<WorkSource::Item> items = work_items({}, layers, kBoth, WorkSource::Shard{});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].occurrences, 3);
}

TEST(Planner, drops_only_the_cache_modes_that_are_settled) {
  const model::LayerKey key = model::to_key(matmul(4, 8, 16));
  const std::vector<WorkSource::Item> items{
      {.key = key, .occurrences = 1, .weight = 1, .caches = kBoth}};
  const results::StoredMeasurement full = row_of(key, "impl=a", 1e-3, results::Purpose::kFull);
  results::StoredMeasurement race = full;
  race.measurement.purpose = results::Purpose::kRace;
  race.measurement.cache = results::CacheMode::kWeights;
  const std::vector<WorkSource::Item> left = without_measured(items, std::vector{full, race});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].caches, std::vector<results::CacheMode>{results::CacheMode::kWeights});

  results::StoredMeasurement refused;
  refused.measurement.key = key;
  refused.measurement.cache = results::CacheMode::kWeights;
  refused.measurement.outcome = {results::Outcome::Kind::kUnsupported, "no such type here"};
  EXPECT_TRUE(without_measured(left, std::vector{refused}).empty());
}

TEST(Planner, confirms_the_close_ones_and_the_library_choice) {
  const model::LayerKey key = model::to_key(matmul(4, 8, 16));
  std::vector<results::StoredMeasurement> rows{
      row_of(key, "impl=fast", 1.00e-3, results::Purpose::kFull),
      row_of(key, "impl=close", 1.05e-3, results::Purpose::kFull),
      row_of(key, "impl=also_close", 1.08e-3, results::Purpose::kFull),
      row_of(key, "impl=choice", 2.00e-3, results::Purpose::kFull)};
  rows[3].measurement.library_choice = true;
  const std::vector<WorkSource::Confirmation> wanted =
      confirmations(rows, {.margin = 0.10, .max_variants = 2});
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_EQ(wanted[0].variants,
            (std::vector<std::string>{"impl=fast", "impl=close", "impl=choice"}));

  rows.push_back(row_of(key, "impl=fast", 1.01e-3, results::Purpose::kConfirm));
  EXPECT_TRUE(confirmations(rows, {.margin = 0.10, .max_variants = 2}).empty());
}

TEST(Planner, repeats_what_was_confirmed_until_enough_processes_have) {
  const model::LayerKey key = model::to_key(matmul(4, 8, 16));
  std::vector<results::StoredMeasurement> rows{
      row_of(key, "impl=only", 1e-3, results::Purpose::kFull)};
  rows[0].measurement.process = 1;
  const std::vector<WorkSource::Confirmation> first = confirmations(rows, {.processes = 3});
  ASSERT_EQ(first.size(), 1U) << "a single variant too: what differs is the process";
  EXPECT_EQ(first[0].variants, std::vector<std::string>{"impl=only"});

  for (const std::int64_t process : {2, 3}) {
    rows.push_back(row_of(key, "impl=only", 1e-3, results::Purpose::kConfirm));
    rows.back().measurement.process = process;
    rows.back().measurement.cache = results::CacheMode::kNone;
    const std::vector<WorkSource::Confirmation> again = confirmations(rows, {.processes = 3});
    ASSERT_EQ(again.size(), 1U) << process;
    EXPECT_EQ(again[0].caches, std::vector<results::CacheMode>{results::CacheMode::kNone})
        << "only hot";
  }
  rows.push_back(row_of(key, "impl=only", 1e-3, results::Purpose::kConfirm));
  rows.back().measurement.process = 4;
  EXPECT_TRUE(confirmations(rows, {.processes = 3}).empty());
  EXPECT_EQ(confirmations(rows, {.processes = 4}).size(), 1U);
}

TEST(Planner, reads_shards_and_refuses_nonsense) {
  EXPECT_EQ(parse_shard("2/4").index, 2U);
  EXPECT_EQ(parse_shard("2/4").count, 4U);
  for (const char* text : {"", "2", "0/4", "5/4", "1/0", "a/4", "1/4x", "-1/4", "1/99999999999"}) {
    EXPECT_THROW(static_cast<void>(parse_shard(text)), Error) << text;
  }
}

}  // namespace
}  // namespace plumb::session
