// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/matrix/matrix.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {
namespace {

using results::BoundKind;

/// Mode of executions, with what decides which bounds hold for it.
struct ExecutedMode {
  std::string text;
  bool own_type = true;               ///< the model's
  std::optional<std::string> layers;  ///< mode of the bounds of layers; absent: it has other layers
  bool branches = false;              ///< side by side
};

/// Returns each word of a mode alone, and words together.
std::vector<ExecutedMode> executed_modes() {
  return {{"plain", true, "plain", false},
          {"best_variant", true, "plain", false},
          {"bf16", false, {}, false},
          {"captured", true, "plain", false},
          {"channels_last", true, "plain", false},
          {"checkpointing", true, "plain", false},
          {"conv_relu_backward", true, {}, false},
          {"eager", true, "plain", false},
          {"f16", false, {}, false},
          {"folded_norms", true, {}, false},
          {"fused_optimizer", true, {}, false},
          {"fusion", true, "fusion", false},
          {"gemm_bias", true, {}, false},
          {"gemm_gelu", true, {}, false},
          {"gemm_relu", true, {}, false},
          {"int8", false, {}, false},
          {"micro_batch", true, "plain", false},
          {"parallel_branches", true, "plain", true},
          {"streams", true, "plain", true},
          {"tf32", false, {}, false},
          {"best_variant+fusion", true, "fusion", false},
          {"best_variant+parallel_branches", true, "plain", true},
          {"fusion+parallel_branches", true, "fusion", true},
          {"fusion+streams", true, "fusion", true},
          {"folded_norms+fusion", true, {}, false},
          {"gemm_bias+streams", true, {}, true},
          {"bf16+fusion", false, {}, false},
          {"bf16+parallel_branches", false, {}, true}};
}

std::vector<BoundKind> all_bound_kinds() {
  std::vector<BoundKind> kinds;
  for (int i = 0; i <= static_cast<int>(BoundKind::kBenanzaParallel); ++i) {
    kinds.push_back(static_cast<BoundKind>(i));
  }
  return kinds;
}

/// Returns the modes that a bound may have beside executions in a mode.
std::vector<std::string> modes_of_bounds(const ExecutedMode& mode) {
  return {"any", "plain", "fusion", mode.text};
}

bool is_of_layers_alone(BoundKind kind) {
  return kind != BoundKind::kHardware && kind != BoundKind::kHardwareUpdate &&
         kind != BoundKind::kLibrary && kind != BoundKind::kPredicted;
}

TEST(BoundOfMode, is_stated_for_each_word_of_a_mode) {
  const std::vector<ExecutedMode> modes = executed_modes();
  const auto words = std::count_if(modes.begin(), modes.end(), [](const ExecutedMode& mode) {
    return mode.text != "plain" && mode.text.find('+') == std::string::npos;
  });
  const std::string known = results::list_mode_words();  // "a, b and c"
  EXPECT_EQ(words, std::count(known.begin(), known.end(), ',') + 2) << known;
}

TEST(BoundOfMode, has_its_mode_by_type_layers_and_branches) {
  const std::optional<std::string> any = "any";
  const std::optional<std::string> none;
  for (const ExecutedMode& mode : executed_modes()) {
    EXPECT_EQ(mode_of_bound(BoundKind::kPredicted, mode.text), mode.text);
    EXPECT_EQ(mode_of_bound(BoundKind::kHardware, mode.text), mode.own_type ? any : none)
        << mode.text;
    EXPECT_EQ(mode_of_bound(BoundKind::kHardwareUpdate, mode.text), mode.own_type ? any : none)
        << mode.text;
    EXPECT_EQ(mode_of_bound(BoundKind::kLibrary, mode.text), mode.branches ? none : mode.layers)
        << mode.text;
    for (const BoundKind kind : all_bound_kinds()) {
      if (is_of_layers_alone(kind)) {
        EXPECT_EQ(mode_of_bound(kind, mode.text), mode.layers) << to_text(kind) << " " << mode.text;
      }
    }
  }
}

TEST(BoundOfMode, is_a_promise_of_the_hardware_and_of_the_library_alone) {
  for (const ExecutedMode& mode : executed_modes()) {
    ExecutionTime execution;
    execution.mode = mode.text;
    for (const std::string& of_bound : modes_of_bounds(mode)) {
      for (const BoundKind kind : all_bound_kinds()) {
        const bool hardware = kind == BoundKind::kHardware || kind == BoundKind::kHardwareUpdate;
        const bool library =
            kind == (mode.branches ? BoundKind::kLibraryParallel : BoundKind::kLibrary);
        Bound bound;
        bound.kind = kind;
        bound.mode = of_bound;
        bound.complete = true;
        EXPECT_EQ(must_not_exceed(bound, execution),
                  (hardware && mode.own_type && of_bound == "any") ||
                      (library && mode.layers == of_bound))
            << to_text(kind) << " (" << of_bound << ") for " << mode.text;
        bound.complete = false;
        EXPECT_FALSE(must_not_exceed(bound, execution)) << "part of a bound promises nothing";
      }
    }
  }
}

TEST(BoundOfMode, is_the_one_that_a_matrix_shows) {
  for (const ExecutedMode& mode : executed_modes()) {
    for (const std::string& of_bound : modes_of_bounds(mode)) {
      for (const BoundKind kind : all_bound_kinds()) {
        ModelResults model;
        model.bounds.push_back({kind, of_bound, true, Estimate{2.0, {}, {}}});
        const Matrix::Value value = evaluate(Quantity::kBound, mode.text, kind, model);
        EXPECT_EQ(value.estimate.has_value(), mode_of_bound(kind, mode.text) == of_bound)
            << to_text(kind) << " (" << of_bound << ") for " << mode.text;
      }
    }
  }
}

TEST(BoundOfMode, is_found_by_kind_and_mode_in_a_model_and_in_its_results) {
  ModelBounds model;
  for (const BoundKind kind : all_bound_kinds()) {
    for (const char* const mode : {"plain", "fusion"}) {
      Bound bound;
      bound.kind = kind;
      bound.mode = mode;
      bound.seconds = Seconds(1.0 + static_cast<double>(model.bounds.size()));
      bound.complete = true;
      model.bounds.push_back(bound);
    }
  }
  const ModelResults results = summarize_results(model, {});
  for (const Bound& bound : model.bounds) {
    EXPECT_EQ(find_bound(model, bound.kind, bound.mode), &bound);
    const ModelResults::BoundTime* const found = find_bound(results, bound.kind, bound.mode);
    ASSERT_NE(found, nullptr) << to_text(bound.kind);
    EXPECT_DOUBLE_EQ(found->seconds.value().value, bound.seconds.count());
  }
  EXPECT_EQ(find_bound(model, BoundKind::kLibrary, "any"), nullptr);
  EXPECT_EQ(find_bound(results, BoundKind::kLibrary, "any"), nullptr);
}

}  // namespace
}  // namespace plumb::analysis
