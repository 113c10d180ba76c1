// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/library/engine_preview.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/engine_promise.hpp"

namespace plumb::analysis {
namespace {

constexpr std::string_view kNone = "–";

std::string joined(const std::vector<std::string>& notes) {
  return notes.empty() ? std::string(kNone) : fmt::format("{}", fmt::join(notes, " "));
}

std::string bytes_or_none(const std::optional<Bytes>& bytes) {
  return bytes ? std::to_string(bytes->value) : std::string(kNone);
}

std::vector<EngineComparison::Difference> knob_differences(const results::EngineConfiguration& from,
                                                           const results::EngineConfiguration& to) {
  std::set<std::string> names;
  for (const auto* const knobs : {&from.knobs, &to.knobs}) {
    for (const auto& [name, value] : *knobs) {
      names.insert(name);
    }
  }
  std::vector<EngineComparison::Difference> differences;
  for (const std::string& name : names) {
    const auto value = [&](const results::EngineConfiguration& configuration) {
      const auto found = configuration.knobs.find(name);
      return found == configuration.knobs.end() ? std::string(kNone)
                                                : std::to_string(found->second);
    };
    if (value(from) != value(to)) {
      differences.push_back({name, value(from), value(to)});
    }
  }
  return differences;
}

/// Fills in how two engines differ. The worst kind of difference is the change of the whole.
void compare_configurations(EngineComparison& result) {
  const results::EngineConfiguration& from = *result.from;
  const results::EngineConfiguration& to = *result.to;
  const auto note = [&](EngineChange change, const char* what, std::string old, std::string now) {
    if (old != now) {
      result.differences.push_back({what, std::move(old), std::move(now)});
      result.change = std::min(result.change, change);
    }
  };
  note(EngineChange::kNumerics,
       "numerical_notes",
       joined(from.numerical_notes),
       joined(to.numerical_notes));
  for (EngineComparison::Difference& difference : knob_differences(from, to)) {
    result.differences.push_back(std::move(difference));
    result.change = std::min(result.change, EngineChange::kKnobs);
  }
  note(EngineChange::kResources,
       "behaviour_notes",
       joined(from.behaviour_notes),
       joined(to.behaviour_notes));
  note(EngineChange::kResources,
       "workspace_bytes",
       bytes_or_none(from.workspace),
       bytes_or_none(to.workspace));
  if (from.shared_memory && to.shared_memory) {
    note(EngineChange::kResources,
         "shared_memory_bytes",
         bytes_or_none(from.shared_memory),
         bytes_or_none(to.shared_memory));
  }
  note(EngineChange::kUnknown, "engine", std::to_string(from.engine), std::to_string(to.engine));
}

std::optional<std::size_t> find_rank(const results::EngineConfiguration& wanted,
                                     const results::EngineOffer& offer) {
  for (const results::EngineRanking& ranking : offer.rankings) {
    if (ranking.heuristic != "A") {
      continue;
    }
    for (std::size_t index = 0; index < ranking.configurations.size(); ++index) {
      const results::EngineConfiguration& one = ranking.configurations[index];
      if (one.knobs == wanted.knobs && one.numerical_notes == wanted.numerical_notes) {
        return index + 1;
      }
    }
  }
  return std::nullopt;
}

/// Returns why there is no engine for an offer.
std::string find_reason(const results::EngineChoices& choices, const results::EngineOffer* offer) {
  if (!choices.outcome.ok()) {
    return choices.outcome.reason;
  }
  if (offer == nullptr) {
    return "the layout was not asked for";
  }
  if (!offer->refusal.empty()) {
    return offer->refusal;
  }
  std::size_t offered = 0;
  for (const results::EngineRanking& ranking : offer->rankings) {
    offered += ranking.configurations.size();
    if (!ranking.refusal.empty()) {
      return ranking.refusal;
    }
  }
  return offered == 0 ? "no configuration passes the library's own checks"
                      : "no configuration keeps the layer's precision";
}

const results::EngineOffer* offer_in(const results::EngineChoices& choices,
                                     const std::string& layout) {
  const auto found = std::find_if(
      choices.offers.begin(), choices.offers.end(), [&](const results::EngineOffer& offer) {
        return offer.layout == layout;
      });
  return found == choices.offers.end() ? nullptr : &*found;
}

std::optional<results::EngineConfiguration> choice_in(const model::LayerKey& key,
                                                      const results::EngineOffer* offer) {
  const results::EngineConfiguration* const choice =
      offer == nullptr ? nullptr : results::chosen_engine(model::parse_key(key), *offer);
  return choice == nullptr ? std::nullopt : std::optional(*choice);
}

EngineComparison compare(const PreviewedLayer& layer, const std::string& layout) {
  EngineComparison result;
  result.key = layer.key;
  result.layout = layout;
  result.uses = layer.uses;
  for (const LayerUse& use : layer.uses) {
    result.nodes += use.nodes;
  }
  const results::EngineOffer* const from = offer_in(layer.from, layout);
  const results::EngineOffer* const to = offer_in(layer.to, layout);
  result.from = choice_in(layer.key, from);
  result.to = choice_in(layer.key, to);
  if (result.from && result.to) {
    compare_configurations(result);
    if (result.change != EngineChange::kSame) {
      result.earlier_rank = find_rank(*result.to, *from);
    }
  } else if (result.from) {
    result.change = EngineChange::kSupportLost;
    result.reason = find_reason(layer.to, to);
  } else {
    result.change = result.to ? EngineChange::kSupportGained : EngineChange::kNoEngine;
    result.reason = find_reason(layer.from, from);
  }
  return result;
}

bool was_not_asked(const PreviewedLayer& layer) {
  return layer.from.outcome.kind == results::Outcome::Kind::kUnsupported ||
         layer.to.outcome.kind == results::Outcome::Kind::kUnsupported;
}

}  // namespace

std::string_view to_text(EngineChange change) {
  switch (change) {
    case EngineChange::kSupportLost:
      return "support_lost";
    case EngineChange::kNumerics:
      return "numerics";
    case EngineChange::kKnobs:
      return "knobs";
    case EngineChange::kResources:
      return "resources";
    case EngineChange::kSupportGained:
      return "support_gained";
    case EngineChange::kUnknown:
      return "unknown";
    case EngineChange::kNoEngine:
      return "no_engine";
    case EngineChange::kSame:
      return "same";
  }
  return "?";
}

EnginePreview preview_engines(std::span<const PreviewedLayer> layers) {
  EnginePreview preview;
  std::map<std::pair<std::string, std::string>, EnginePreview::NotCovered> not_covered;
  for (const PreviewedLayer& layer : layers) {
    if (was_not_asked(layer)) {
      const std::string op = model::parse_key(layer.key).op;
      const results::Outcome& outcome =
          layer.from.outcome.ok() ? layer.to.outcome : layer.from.outcome;
      EnginePreview::NotCovered& entry = not_covered[{op, outcome.reason}];
      entry.op = op;
      entry.reason = outcome.reason;
      ++entry.keys;
      for (const LayerUse& use : layer.uses) {
        entry.nodes += use.nodes;
      }
      continue;
    }
    std::set<std::string> layouts;
    for (const results::EngineChoices* const choices : {&layer.from, &layer.to}) {
      for (const results::EngineOffer& offer : choices->offers) {
        layouts.insert(offer.layout);
      }
    }
    for (const std::string& layout : layouts) {
      preview.comparisons.push_back(compare(layer, layout));
    }
  }
  std::sort(preview.comparisons.begin(),
            preview.comparisons.end(),
            [](const EngineComparison& left, const EngineComparison& right) {
              return std::tuple(left.change, -left.nodes, left.key, left.layout) <
                     std::tuple(right.change, -right.nodes, right.key, right.layout);
            });
  for (auto& [name, entry] : not_covered) {
    preview.not_covered.push_back(std::move(entry));
  }
  std::stable_sort(preview.not_covered.begin(),
                   preview.not_covered.end(),
                   [](const EnginePreview::NotCovered& left,
                      const EnginePreview::NotCovered& right) { return left.nodes > right.nodes; });
  return preview;
}

}  // namespace plumb::analysis
