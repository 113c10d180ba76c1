// SPDX-License-Identifier: Apache-2.0
// Texts of steps of training.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/rewrite/gradient/training_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::rewrite {
namespace {

/// Highest number of micro-batches of a step, each of which repeats the layers of the model.
constexpr std::int64_t kMaxMicroBatches = 64;

constexpr std::string_view kFreeze = "freeze=";
constexpr std::string_view kLossScaling = "loss_scaling";
constexpr std::string_view kMemoryCap = "memory_cap=";
constexpr std::string_view kRunningStatistics = "running_statistics";

/// Reads "sgd" or "sgd:4" into a choice. Returns false for another text.
bool read_optimizer(std::string_view text, TrainingStep::Choice& choice) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::optional<TrainingStep::Optimizer::Kind> kind = parse_optimizer(text.substr(0, colon));
  if (colon < text.size()) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, choice.micro_batches);
    if (error != std::errc{} || rest != end || choice.micro_batches < 2 ||
        choice.micro_batches > kMaxMicroBatches) {
      return false;
    }
  }
  if (kind) {
    choice.optimizer = standard_optimizer(*kind);
  }
  return kind.has_value();
}

/// Unit of memory in a step's text.
struct MemoryUnit {
  std::string_view name;
  int bits;
};
constexpr std::array kMemoryUnits{
    MemoryUnit{"GiB", 30}, MemoryUnit{"MiB", 20}, MemoryUnit{"KiB", 10}, MemoryUnit{"", 0}};

/// Reads "300MiB". Returns nothing for another text, and for amounts that no machine has.
std::optional<Bytes> read_memory(std::string_view text) {
  constexpr int kMaxBits = 50;
  std::int64_t amount = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, amount);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  for (const MemoryUnit& each : kMemoryUnits) {
    if (error == std::errc{} && unit == each.name && amount > 0 &&
        amount <= (std::int64_t{1} << (kMaxBits - each.bits))) {
      return Bytes{amount << each.bits};
    }
  }
  return std::nullopt;
}

/// Writes what read_memory() reads, in the largest unit that keeps it exact.
std::string memory_text(Bytes memory) {
  const auto* const unit =
      std::find_if(kMemoryUnits.begin(), kMemoryUnits.end(), [&](const MemoryUnit& each) {
        return memory.value % (std::int64_t{1} << each.bits) == 0;
      });
  return fmt::format("{}{}", memory.value >> unit->bits, unit->name);
}

/// Reads a loss, "freeze=PATTERN", kLossScaling, "memory_cap=AMOUNT" or kRunningStatistics into a
/// choice. Returns false for another text, and for a second one of what there is once.
bool read_option(std::string_view text, TrainingStep::Choice& choice) {
  if (text == kRunningStatistics) {
    return !std::exchange(choice.running_statistics, true);
  }
  if (text == kLossScaling) {
    return !std::exchange(choice.loss_scaling, true);
  }
  if (text.starts_with(kMemoryCap)) {
    const bool first = !choice.memory_cap;
    choice.memory_cap = read_memory(text.substr(kMemoryCap.size()));
    return first && choice.memory_cap.has_value();
  }
  if (text.starts_with(kFreeze)) {
    choice.frozen.emplace_back(text.substr(kFreeze.size()));
    return is_frozen_pattern(choice.frozen.back());
  }
  const bool first = !choice.loss;
  choice.loss = parse_loss(text);
  return first && choice.loss.has_value();
}

}  // namespace

std::optional<TrainingStep::Choice> parse_step_choice(std::string_view text) {
  TrainingStep::Choice choice;
  std::istringstream words{std::string(text)};
  std::string word;
  std::getline(words, word, '+');
  bool good = !text.ends_with('+') && read_optimizer(word, choice);
  while (good && std::getline(words, word, '+')) {
    good = read_option(word, choice);
  }
  return good ? std::optional(std::move(choice)) : std::nullopt;
}

std::string step_choice_text(std::string text,
                             const std::optional<std::string>& loss,
                             const std::vector<std::string>& frozen) {
  text += loss ? "+" + *loss : "";
  for (const std::string& pattern : frozen) {
    text += fmt::format("+{}{}", kFreeze, pattern);
  }
  return text;
}

std::string to_text(const TrainingStep::Choice& choice) {
  std::string text(to_text(choice.optimizer.kind));
  if (choice.micro_batches > 1) {
    text += fmt::format(":{}", choice.micro_batches);
  }
  std::optional<std::string> loss;
  if (choice.loss) {
    loss = to_text(*choice.loss);
  }
  const std::set<std::string> frozen(choice.frozen.begin(), choice.frozen.end());
  text = step_choice_text(std::move(text), loss, {frozen.begin(), frozen.end()});
  text += choice.loss_scaling ? fmt::format("+{}", kLossScaling) : "";
  if (choice.memory_cap) {
    text += fmt::format("+{}{}", kMemoryCap, memory_text(*choice.memory_cap));
  }
  return choice.running_statistics ? fmt::format("{}+{}", text, kRunningStatistics) : text;
}

std::string step_choice_words() {
  return fmt::format(
      "{}, ':K' behind it for K micro-batches, 2 to {}, and '+LOSS', '+{}WEIGHTS', "
      "'+{}', '+{}BYTES' and '+{}' behind that",
      fmt::join(optimizer_names(), ", "),
      kMaxMicroBatches,
      kFreeze,
      kLossScaling,
      kMemoryCap,
      kRunningStatistics);
}

}  // namespace plumb::rewrite
