// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_instance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/base/parsed_text.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::analysis {
namespace {

constexpr std::string_view kTraining = "|training=";

}  // namespace

std::string full_name(const ModelInstance& instance) {
  return instance.training.empty()
             ? instance.model
             : fmt::format("{} (training by {})", instance.model, instance.training);
}

std::string step_note(const ModelInstance& instance) {
  const auto choice = rewrite::parse_step_choice(instance.training);
  std::string note;
  if (choice && choice->loss) {
    note = fmt::format("Loss: {}, as asked for.", to_text(*choice->loss));
  }
  if (choice && !choice->frozen.empty()) {
    note += fmt::format("{}Frozen, without gradients and updates: {}.",
                        note.empty() ? "" : " ",
                        fmt::join(choice->frozen, ", "));
  }
  return note;
}

std::int64_t samples_of_step(const ModelInstance& instance) {
  const auto choice = rewrite::parse_step_choice(instance.training);
  return instance.batch * (choice ? choice->micro_batches : 1);
}

std::optional<Bytes> memory_cap_of(const ModelInstance& instance) {
  const auto choice = rewrite::parse_step_choice(instance.training);
  return choice ? choice->memory_cap : std::nullopt;
}

std::string to_text(const ModelInstance& instance, std::string_view separator) {
  std::string text = fmt::format(
      "{}{}batch {}{}{}", instance.model, separator, instance.batch, separator, instance.dtype);
  for (const auto& [name, extent] : instance.dims) {
    text += fmt::format("{}{} {}", separator, name, extent);
  }
  if (!instance.training.empty()) {
    text += fmt::format("{}training by {}", separator, instance.training);
  }
  return text;
}

std::string subject_of(const ModelInstance& instance) {
  std::string text = fmt::format("{}|{}|{}", instance.model, instance.batch, instance.dtype);
  for (const auto& [name, extent] : instance.dims) {
    text += fmt::format("|{}={}", name, extent);
  }
  if (!instance.training.empty()) {
    text += fmt::format("{}{}", kTraining, instance.training);
  }
  return text;
}

std::optional<ModelInstance> parse_subject(std::string_view subject) {
  ModelInstance instance;
  if (const std::size_t at = subject.rfind(kTraining); at != std::string_view::npos) {
    const std::string_view optimizer = subject.substr(at + kTraining.size());
    if (rewrite::parse_step_choice(optimizer)) {
      instance.training = optimizer;
      subject = subject.substr(0, at);
    }
  }
  // From the end, because a model's name may have any characters.
  const auto take_last = [&]() -> std::optional<std::string_view> {
    const std::size_t bar = subject.rfind('|');
    if (bar == std::string_view::npos) {
      return std::nullopt;
    }
    const std::string_view last = subject.substr(bar + 1);
    subject = subject.substr(0, bar);
    return last;
  };
  std::optional<std::string_view> part = take_last();
  for (; part && part->find('=') != std::string_view::npos; part = take_last()) {
    const std::size_t equals = part->rfind('=');
    const std::optional<std::int64_t> extent = parse_number<std::int64_t>(part->substr(equals + 1));
    if (!extent) {
      return std::nullopt;
    }
    instance.dims.emplace(part->substr(0, equals), *extent);
  }
  const std::optional<std::string_view> batch = part ? take_last() : std::nullopt;
  const std::optional<std::int64_t> size =
      batch ? parse_number<std::int64_t>(*batch) : std::nullopt;
  if (!size || subject.empty()) {
    return std::nullopt;
  }
  instance.dtype = *part;
  instance.batch = *size;
  instance.model = subject;
  return instance;
}

}  // namespace plumb::analysis
