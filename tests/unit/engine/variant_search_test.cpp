// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runners/engine/exec/ready_model.hpp"

namespace plumb::engine {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr Bytes kReorder{1000};

/// Plans chains of layers that hand on a layout: a reorder wherever it changes, and at both ends
/// the layout is "a". Left to itself every layer takes "impl=own;layout=a".
class ChainBackend final : public worker::Backend {
 public:
  [[nodiscard]] results::Environment describe() const override { return {}; }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& /*key*/) const override {
    return {};
  }
  [[nodiscard]] std::vector<worker::Variant> variants(
      const model::LayerKey& /*key*/) const override {
    return {};
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& /*key*/,
                                                  const std::string& /*name*/) override {
    return {};
  }
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override {
    ++plans;
    worker::Backend::PreparedModel model;
    char layout = 'a';
    const auto lies = [&](char wanted) {
      if (layout != wanted) {
        ++model.reorders;
        model.reordered += kReorder;
      }
      layout = wanted;
    };
    for (const model::Layer& layer : graph.layers) {
      const auto named = options.variants.find(layer.key);
      model.variants.push_back(named == options.variants.end() ? "impl=own;layout=a"
                                                               : named->second);
      lies(model.variants.back().back());
    }
    lies('a');
    return model;
  }

  int plans = 0;
};

model::Graph chain(const std::vector<std::string>& keys) {
  model::Graph graph;
  for (const std::string& key : keys) {
    model::Layer layer;
    layer.key.text = key;
    graph.layers.push_back(std::move(layer));
  }
  return graph;
}

worker::ModeRequest::Step step(const std::string& key,
                               std::vector<worker::ModeRequest::Choice> choices) {
  return {{}, {key}, std::move(choices)};
}

const measure::Clock kStill = [] { return Seconds(0.0); };

std::vector<std::pair<std::string, std::string>> chosen(const model::Graph& graph,
                                                        const worker::ModeRequest& request,
                                                        const measure::Clock& clock = kStill) {
  ChainBackend backend;
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& [key, variant] : chosen_variants(backend, graph, request, clock)) {
    result.emplace_back(key.text, variant);
  }
  return result;
}

// 10 s by the library's own choice, 7 s by a variant of layout b. A byte reordered costs a
// millisecond, so each reorder a second.
worker::ModeRequest three_layers(double reorder_per_byte) {
  const std::vector<worker::ModeRequest::Choice> choices{{"impl=fast;layout=b", Seconds(7.0)},
                                                         {"impl=own;layout=a", Seconds(10.0)}};
  return {
      {.best_variant = true},
      {step("x", choices), step("y", {{"impl=own;layout=a", Seconds(1.0)}}), step("z", choices)},
      Seconds(reorder_per_byte)};
}

TEST(VariantSearch, takes_a_faster_variant_that_is_worth_its_reorders) {
  EXPECT_THAT(chosen(chain({"x", "y", "z"}), three_layers(1e-3)),
              UnorderedElementsAre(Pair("x", "impl=fast;layout=b"),
                                   Pair("y", "impl=own;layout=a"),
                                   Pair("z", "impl=fast;layout=b")));
}

TEST(VariantSearch, leaves_to_the_library_what_is_not_worth_its_reorders) {
  EXPECT_THAT(chosen(chain({"x", "y", "z"}), three_layers(2e-3)),
              UnorderedElementsAre(Pair("y", "impl=own;layout=a")));
}

// One of them alone costs two reorders for 3 s; both together two reorders for 6 s.
TEST(VariantSearch, finds_layouts_that_pay_only_together) {
  EXPECT_THAT(chosen(chain({"x", "z"}), three_layers(2e-3)),
              UnorderedElementsAre(Pair("x", "impl=fast;layout=b"),
                                   Pair("z", "impl=fast;layout=b"),
                                   Pair("y", "impl=own;layout=a")));
}

// The fastest of z is of layout c: with it reorders eat the gain, and the second choice wins.
TEST(VariantSearch, takes_a_slower_variant_that_lies_as_its_neighbours_do) {
  worker::ModeRequest request = three_layers(2e-3);
  request.steps[2].choices.insert(request.steps[2].choices.begin(),
                                  {"impl=faster;layout=c", Seconds(6.5)});
  EXPECT_THAT(chosen(chain({"x", "z"}), request),
              testing::IsSupersetOf({std::pair<std::string, std::string>("x", "impl=fast;layout=b"),
                                     {"z", "impl=fast;layout=b"}}));
}

TEST(VariantSearch, tries_nothing_for_a_gain_that_times_alone_cannot_tell) {
  const worker::ModeRequest request{
      {.best_variant = true},
      {step("x", {{"impl=fast;layout=a", Seconds(0.98)}, {"impl=own;layout=a", Seconds(1.0)}})},
      Seconds(0.0)};
  EXPECT_THAT(chosen(chain({"x"}), request), IsEmpty());
}

TEST(VariantSearch, takes_single_choices_without_a_search) {
  ChainBackend backend;
  const worker::ModeRequest request{
      {.best_variant = true}, {step("x", {{"impl=slow;layout=c", Seconds(99.0)}})}, Seconds(1.0)};
  const worker::LayerVariants variants = chosen_variants(backend, chain({"x"}), request, kStill);
  EXPECT_EQ(variants.at({"x"}), "impl=slow;layout=c");
  EXPECT_EQ(backend.plans, 0);
}

TEST(VariantSearch, ends_when_its_time_is_spent) {
  ChainBackend backend;
  std::vector<std::string> keys;
  worker::ModeRequest request{{.best_variant = true}, {}, Seconds(2e-3)};
  for (int i = 0; i < 100; ++i) {
    keys.push_back("layer " + std::to_string(i));
    request.steps.push_back(step(
        keys.back(), {{"impl=fast;layout=b", Seconds(7.0)}, {"impl=own;layout=a", Seconds(10.0)}}));
  }
  Seconds now{};
  static_cast<void>(
      chosen_variants(backend, chain(keys), request, [&] { return now += Seconds(0.1); }));
  EXPECT_LT(backend.plans, 30);
}

}  // namespace
}  // namespace plumb::engine
