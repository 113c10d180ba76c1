// SPDX-License-Identifier: Apache-2.0
#include "harness/results/execution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/measurement_fields.hpp"

namespace plumb::results {
namespace {

/// Reads a scenario. Workers in Python once named none.
std::optional<loadgen::ScenarioName> stored_scenario(std::string_view text) {
  return text.empty() ? loadgen::ScenarioName::kSingleStream : loadgen::parse_scenario_name(text);
}

/// Describes the turn of an execution, which one of a shape alone has not.
template <typename Fields>
void describe_turn(Fields& fields, Described<Fields, std::optional<SeriesName::Turn>>& turn) {
  constexpr const char* kName = "turn";
  std::string text(turn ? to_text(*turn) : std::string_view());
  fields.unless_empty(kName, text);
  if constexpr (Fields::kReads) {
    turn = parse_shape_turn(text);
    if (!turn && !text.empty()) {
      refuse_word(kName, text);
    }
  }
}

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, measure::MeasuredTime>& value) {
  fields("median_seconds", value.median);
  fields("low_seconds", value.interval.low);
  fields("high_seconds", value.interval.high);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Execution::Layer>& value) {
  fields("layers", value.layers);
  fields("key", value.key.text);
  fields("variant", value.variant);
  fields("seconds", value.seconds);
  fields("reorder_seconds", value.reorder);
  fields("reorders", value.reorders);
  fields.unless_empty("in_turn", value.in_context);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, Execution>& value) {
  fields("mode", value.mode);
  fields("scenario", value.scenario, stored_scenario);
  describe_turn(fields, value.turn);
  fields("memory_bytes", value.memory);
  fields("reorders", value.reorders);
  fields.since("layers", value.layers);
  fields("row", value.row);
  fields.unless_empty("in_turn", value.in_context);
}

std::string to_json(const Execution& execution) {
  return described_text(execution);
}

Execution execution_from_json(std::string_view text) {
  return value_from_text<Execution>(text);
}

namespace {

struct ModeWord {
  std::string_view word;
  bool ExecutionMode::*option;
};

constexpr std::array<ModeWord, 19> kWords{{
    {"best_variant", &ExecutionMode::best_variant},
    {"bf16", &ExecutionMode::bf16},
    {"captured", &ExecutionMode::captured},
    {"channels_last", &ExecutionMode::channels_last},
    {"checkpointing", &ExecutionMode::checkpointing},
    {"conv_relu_backward", &ExecutionMode::conv_relu_backward},
    {"eager", &ExecutionMode::eager},
    {"f16", &ExecutionMode::f16},
    {"folded_norms", &ExecutionMode::folded_norms},
    {"fused_optimizer", &ExecutionMode::fused_optimizer},
    {"fusion", &ExecutionMode::fusion},
    {"gemm_bias", &ExecutionMode::gemm_bias},
    {"gemm_gelu", &ExecutionMode::gemm_gelu},
    {"gemm_relu", &ExecutionMode::gemm_relu},
    {"int8", &ExecutionMode::int8},
    {"micro_batch", &ExecutionMode::micro_batch},
    {"parallel_branches", &ExecutionMode::parallel_branches},
    {"streams", &ExecutionMode::streams},
    {"tf32", &ExecutionMode::tf32},
}};

constexpr std::array kLayouts =
    std::to_array<ModeWord>({{"best_variant", &ExecutionMode::best_variant},
                             {"channels_last", &ExecutionMode::channels_last}});

// Which variants are the best is asked of the layers of the model as it is written, and so is what
// another graph of a step is made of.
constexpr std::array kPlans =
    std::to_array<ModeWord>({{"best_variant", &ExecutionMode::best_variant},
                             {"checkpointing", &ExecutionMode::checkpointing},
                             {"folded_norms", &ExecutionMode::folded_norms}});

// What is fused: everything that may be, or one family of it.
constexpr std::array kFusions =
    std::to_array<ModeWord>({{"fusion", &ExecutionMode::fusion},
                             {"conv_relu_backward", &ExecutionMode::conv_relu_backward},
                             {"fused_optimizer", &ExecutionMode::fused_optimizer},
                             {"gemm_bias", &ExecutionMode::gemm_bias},
                             {"gemm_gelu", &ExecutionMode::gemm_gelu},
                             {"gemm_relu", &ExecutionMode::gemm_relu}});

// The words that are names of types. A mode has one of them at most.
constexpr std::array kTypes = std::to_array<ModeWord>({{"bf16", &ExecutionMode::bf16},
                                                       {"f16", &ExecutionMode::f16},
                                                       {"int8", &ExecutionMode::int8},
                                                       {"tf32", &ExecutionMode::tf32}});

// On a device, parallel_branches is streams where there are branches.
constexpr std::array kLaunches =
    std::to_array<ModeWord>({{"captured", &ExecutionMode::captured},
                             {"eager", &ExecutionMode::eager},
                             {"streams", &ExecutionMode::streams},
                             {"parallel_branches", &ExecutionMode::parallel_branches}});

constexpr std::string_view kPlain = "plain";

/// Throws if more than one word of a list is on. `advice` follows in the message.
void check_at_most_one(const ExecutionMode& mode,
                       std::span<const ModeWord> words,
                       std::string_view advice = "") {
  std::vector<std::string_view> found;
  for (const auto& [word, option] : words) {
    if (mode.*option) {
      found.push_back(word);
    }
  }
  if (found.size() > 1) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("{} exclude each other: use one of them{}", fmt::join(found, " and "), advice));
  }
}

/// Throws if micro_batch is on with something else. Its times are those of layers as written.
void check_alone(const ExecutionMode& mode) {
  ExecutionMode alone;
  alone.micro_batch = true;
  if (mode.micro_batch && mode != alone) {
    throw Error(Error::Kind::kUser,
                fmt::format("{}: micro_batch is a mode by itself", to_text(mode)));
  }
}

}  // namespace

std::string_view ExecutionMode::other_type() const {
  const auto* const found = std::find_if(
      kTypes.begin(), kTypes.end(), [this](const ModeWord& type) { return this->*type.option; });
  return found == kTypes.end() ? std::string_view() : found->word;
}

std::string_view ExecutionMode::fusion_family() const {
  const auto* const found =
      std::find_if(kFusions.begin() + 1, kFusions.end(), [this](const ModeWord& family) {
        return this->*family.option;
      });
  return found == kFusions.end() ? std::string_view() : found->word;
}

std::string list_mode_words() {
  std::vector<std::string_view> words;
  for (const ModeWord& each : kWords) {
    words.push_back(each.word);
  }
  const std::string_view last = words.back();
  words.pop_back();
  return fmt::format("{} and {}", fmt::join(words, ", "), last);
}

std::string to_text(const ExecutionMode& mode) {
  std::string text;
  for (const auto& [word, option] : kWords) {
    if (mode.*option) {
      text += text.empty() ? "" : "+";
      text += word;
    }
  }
  return text.empty() ? std::string(kPlain) : text;
}

ExecutionMode execution_mode_from(std::string_view text) {
  ExecutionMode mode;
  if (text == kPlain) {
    return mode;
  }
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find('+');
    const std::string_view word = rest.substr(0, end);
    const auto* const found = std::find_if(
        kWords.begin(), kWords.end(), [&](const auto& each) { return each.word == word; });
    if (found == kWords.end() || mode.*(found->option)) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("'{}' is not a mode: use plain, or {}, each at most once, joined by '+'",
                      text.substr(0, 200),
                      list_mode_words()));
    }
    mode.*(found->option) = true;
    check_at_most_one(mode, kLayouts, "; best_variant also tries variants with channels last");
    check_at_most_one(mode, kPlans);
    check_at_most_one(mode, kFusions);
    check_at_most_one(mode, kTypes);
    check_at_most_one(mode, kLaunches);
    if (end == std::string_view::npos) {
      check_alone(mode);
      return mode;
    }
    rest.remove_prefix(end + 1);
  }
}

std::vector<ExecutionMode> default_modes() {
  return {{},
          {.best_variant = true},
          {.fusion = true},
          {.best_variant = true, .fusion = true},
          {.channels_last = true},
          {.bf16 = true},
          {.f16 = true},
          {.channels_last = true, .f16 = true},
          {.tf32 = true},
          {.fusion = true, .int8 = true},
          {.best_variant = true, .bf16 = true, .fusion = true}};
}

}  // namespace plumb::results
