// SPDX-License-Identifier: Apache-2.0
#include "harness/results/series/series_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, 12> kTexts{"hardware",
                                                  "hardware_update",
                                                  "library",
                                                  "library_parallel",
                                                  "predicted",
                                                  "layer_sum",
                                                  "sequential",
                                                  "critical_path",
                                                  "occupancy",
                                                  "schedule",
                                                  "benanza_sequential",
                                                  "benanza_parallel"};

}  // namespace

std::string_view to_text(BoundKind kind) {
  return enum_text(kTexts, kind);
}

std::optional<BoundKind> parse_bound_kind(std::string_view text) {
  return parse_enum<BoundKind>(kTexts, text);
}

namespace {

constexpr std::array<std::string_view, kShapeTurns.size()> kTurnTexts{"first", "steady", "changed"};

}  // namespace

std::string_view to_text(SeriesName::Turn turn) {
  return enum_text(kTurnTexts, turn);
}

std::optional<SeriesName::Turn> parse_shape_turn(std::string_view text) {
  return parse_enum<SeriesName::Turn>(kTurnTexts, text);
}

namespace {

using Kind = SeriesName::Kind;

constexpr std::string_view kModels = "models/";
constexpr std::array kOfLayers =
    std::to_array<std::pair<Kind, std::string_view>>({{Kind::kLayer, "layers/"},
                                                      {Kind::kCapability, "capability/"},
                                                      {Kind::kLayerAccuracy, "accuracy/"}});
constexpr std::array kOfModels =
    std::to_array<std::pair<Kind, std::string_view>>({{Kind::kEndToEnd, "/end_to_end/"},
                                                      {Kind::kAccuracy, "/accuracy/"},
                                                      {Kind::kLoad, "/load/"},
                                                      {Kind::kAlternation, "/alternation/"}});

template <typename Table>
std::string_view word_of(const Table& table, Kind kind) {
  const auto row = std::find_if(
      table.begin(), table.end(), [&](const auto& each) { return each.first == kind; });
  PLUMB_CHECK(row != table.end());
  return row->second;
}

SeriesName parse_of_model(std::string_view text) {
  for (const auto& [kind, word] : kOfModels) {
    const std::size_t at = text.rfind(word);
    if (at == std::string_view::npos || at == 0) {
      continue;
    }
    const std::string_view rest = text.substr(at + word.size());
    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos && rest.find('/', slash + 1) == std::string_view::npos) {
      return {kind,
              std::string(text.substr(0, at)),
              {},
              std::string(rest.substr(0, slash)),
              std::string(rest.substr(slash + 1))};
    }
  }
  const std::size_t mode = text.rfind('/');
  const std::size_t bound =
      mode == std::string_view::npos || mode == 0 ? mode : text.rfind('/', mode - 1);
  if (mode == std::string_view::npos || mode == 0 || bound == std::string_view::npos ||
      bound == 0) {
    return {};
  }
  const auto kind = parse_bound_kind(text.substr(bound + 1, mode - bound - 1));
  if (!kind) {
    return {};
  }
  return {Kind::kBound,
          std::string(text.substr(0, bound)),
          kind,
          std::string(text.substr(mode + 1)),
          ""};
}

}  // namespace

SeriesName parse_series(std::string_view text) {
  for (const auto& [kind, word] : kOfLayers) {
    if (text.starts_with(word)) {
      return {kind, std::string(text.substr(word.size())), {}, "", ""};
    }
  }
  return text.starts_with(kModels) ? parse_of_model(text.substr(kModels.size())) : SeriesName();
}

std::string layer_series(std::string_view key) {
  return fmt::format("{}{}", word_of(kOfLayers, Kind::kLayer), key);
}

std::string capability_series(std::string_view key) {
  return fmt::format("{}{}", word_of(kOfLayers, Kind::kCapability), key);
}

std::string accuracy_series(std::string_view key) {
  return fmt::format("{}{}", word_of(kOfLayers, Kind::kLayerAccuracy), key);
}

std::string model_series(std::string_view subject,
                         SeriesName::Kind kind,
                         std::string_view mode,
                         loadgen::ScenarioName scenario) {
  return fmt::format(
      "{}{}{}{}/{}", kModels, subject, word_of(kOfModels, kind), mode, to_text(scenario));
}

std::string alternation_series(std::string_view subject,
                               std::string_view mode,
                               SeriesName::Turn turn) {
  return fmt::format(
      "{}{}{}{}/{}", kModels, subject, word_of(kOfModels, Kind::kAlternation), mode, to_text(turn));
}

std::string bound_series(std::string_view subject, BoundKind bound, std::string_view mode) {
  return fmt::format("{}{}/{}/{}", kModels, subject, to_text(bound), mode);
}

std::string qualified_series(std::string_view subject, std::string_view mode) {
  return fmt::format("{}{}/{}", kModels, subject, mode);
}

std::string shown_series(std::string_view subject, std::string_view mode) {
  return fmt::format("{}{}{}{}", kModels, subject, word_of(kOfModels, Kind::kEndToEnd), mode);
}

std::string_view behind_subject(std::string_view text, std::string_view subject) {
  if (!is_model_series(text) || subject.empty()) {
    return {};
  }
  const std::string_view rest = text.substr(kModels.size());
  return rest.starts_with(subject) && rest.substr(subject.size()).starts_with('/')
             ? rest.substr(subject.size() + 1)
             : std::string_view();
}

bool is_layer_series(std::string_view text) {
  return text.starts_with(word_of(kOfLayers, Kind::kLayer));
}

bool is_model_series(std::string_view text) {
  return text.starts_with(kModels);
}

std::vector<std::string> case_names(const std::string& series) {
  std::vector<std::string> names{series};
  const SeriesName name = parse_series(series);
  switch (name.kind) {
    case Kind::kLayer:
      names.push_back(name.subject);
      break;
    case Kind::kEndToEnd:
    case Kind::kAccuracy:
    case Kind::kLoad:
    case Kind::kAlternation:
    case Kind::kBound:
      names.push_back(name.subject);
      names.push_back(name.subject + " " + name.mode);
      break;
    case Kind::kCapability:
    case Kind::kLayerAccuracy:
    case Kind::kOther:
      break;
  }
  return names;
}

}  // namespace plumb::results
