// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/library/stack_difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/engine_choice.hpp"

namespace plumb::analysis {
namespace {

constexpr std::string_view kNone = "–";

std::string joined(const std::vector<std::string>& notes) {
  return notes.empty() ? std::string(kNone) : fmt::format("{}", fmt::join(notes, " "));
}

std::string bytes_or_none(const std::optional<Bytes>& bytes) {
  return bytes ? std::to_string(bytes->value) : std::string(kNone);
}

std::vector<EnginePreview::Comparison::Difference> knob_differences(
    const results::EngineChoices::Configuration& from,
    const results::EngineChoices::Configuration& to) {
  std::set<std::string> names;
  for (const auto* const knobs : {&from.knobs, &to.knobs}) {
    for (const auto& [name, value] : *knobs) {
      names.insert(name);
    }
  }
  std::vector<EnginePreview::Comparison::Difference> differences;
  for (const std::string& name : names) {
    const auto value = [&](const results::EngineChoices::Configuration& configuration) {
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
void compare_configurations(EnginePreview::Comparison& result) {
  const results::EngineChoices::Configuration& from = *result.from;
  const results::EngineChoices::Configuration& to = *result.to;
  const auto note =
      [&](EnginePreview::Change change, const char* what, std::string old, std::string now) {
        if (old != now) {
          result.differences.push_back({what, std::move(old), std::move(now)});
          result.change = std::min(result.change, change);
        }
      };
  note(EnginePreview::Change::kNumerics,
       "numerical_notes",
       joined(from.numerical_notes),
       joined(to.numerical_notes));
  for (EnginePreview::Comparison::Difference& difference : knob_differences(from, to)) {
    result.differences.push_back(std::move(difference));
    result.change = std::min(result.change, EnginePreview::Change::kKnobs);
  }
  note(EnginePreview::Change::kResources,
       "behaviour_notes",
       joined(from.behaviour_notes),
       joined(to.behaviour_notes));
  note(EnginePreview::Change::kResources,
       "workspace_bytes",
       bytes_or_none(from.workspace),
       bytes_or_none(to.workspace));
  if (from.shared_memory && to.shared_memory) {
    note(EnginePreview::Change::kResources,
         "shared_memory_bytes",
         bytes_or_none(from.shared_memory),
         bytes_or_none(to.shared_memory));
  }
  note(EnginePreview::Change::kUnknown,
       "engine",
       std::to_string(from.engine),
       std::to_string(to.engine));
}

std::optional<std::size_t> find_rank(const results::EngineChoices::Configuration& wanted,
                                     const results::EngineChoices::Offer& offer) {
  for (const results::EngineChoices::Ranking& ranking : offer.rankings) {
    if (ranking.heuristic != "A") {
      continue;
    }
    for (std::size_t index = 0; index < ranking.configurations.size(); ++index) {
      const results::EngineChoices::Configuration& one = ranking.configurations[index];
      if (one.knobs == wanted.knobs && one.numerical_notes == wanted.numerical_notes) {
        return index + 1;
      }
    }
  }
  return std::nullopt;
}

/// Returns why there is no engine for an offer.
std::string find_reason(const results::EngineChoices& choices,
                        const results::EngineChoices::Offer* offer) {
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
  for (const results::EngineChoices::Ranking& ranking : offer->rankings) {
    offered += ranking.configurations.size();
    if (!ranking.refusal.empty()) {
      return ranking.refusal;
    }
  }
  return offered == 0 ? "no configuration passes the library's own checks"
                      : "no configuration keeps the layer's precision";
}

const results::EngineChoices::Offer* offer_in(const results::EngineChoices& choices,
                                              const std::string& layout) {
  const auto found = std::find_if(
      choices.offers.begin(),
      choices.offers.end(),
      [&](const results::EngineChoices::Offer& offer) { return offer.layout == layout; });
  return found == choices.offers.end() ? nullptr : &*found;
}

std::optional<results::EngineChoices::Configuration> choice_in(
    const model::LayerKey& key, const results::EngineChoices::Offer* offer) {
  const results::EngineChoices::Configuration* const choice =
      offer == nullptr ? nullptr : results::chosen_engine(model::parse_key(key), *offer);
  return choice == nullptr ? std::nullopt : std::optional(*choice);
}

EnginePreview::Comparison compare(const EnginePreview::Layer& layer, const std::string& layout) {
  EnginePreview::Comparison result;
  result.key = layer.key;
  result.layout = layout;
  result.uses = layer.uses;
  for (const EnginePreview::Use& use : layer.uses) {
    result.nodes += use.nodes;
  }
  const results::EngineChoices::Offer* const from = offer_in(layer.from, layout);
  const results::EngineChoices::Offer* const to = offer_in(layer.to, layout);
  result.from = choice_in(layer.key, from);
  result.to = choice_in(layer.key, to);
  if (result.from && result.to) {
    compare_configurations(result);
    if (result.change != EnginePreview::Change::kSame) {
      result.earlier_rank = find_rank(*result.to, *from);
    }
  } else if (result.from) {
    result.change = EnginePreview::Change::kSupportLost;
    result.reason = find_reason(layer.to, to);
  } else {
    result.change =
        result.to ? EnginePreview::Change::kSupportGained : EnginePreview::Change::kNoEngine;
    result.reason = find_reason(layer.from, from);
  }
  return result;
}

bool was_not_asked(const EnginePreview::Layer& layer) {
  return layer.from.outcome.kind == results::Outcome::Kind::kUnsupported ||
         layer.to.outcome.kind == results::Outcome::Kind::kUnsupported;
}

}  // namespace

std::string_view to_text(EnginePreview::Change change) {
  switch (change) {
    case EnginePreview::Change::kSupportLost:
      return "support_lost";
    case EnginePreview::Change::kNumerics:
      return "numerics";
    case EnginePreview::Change::kKnobs:
      return "knobs";
    case EnginePreview::Change::kResources:
      return "resources";
    case EnginePreview::Change::kSupportGained:
      return "support_gained";
    case EnginePreview::Change::kUnknown:
      return "unknown";
    case EnginePreview::Change::kNoEngine:
      return "no_engine";
    case EnginePreview::Change::kSame:
      return "same";
  }
  return "?";
}

EnginePreview preview_engines(std::span<const EnginePreview::Layer> layers) {
  EnginePreview preview;
  std::map<std::pair<std::string, std::string>, EnginePreview::NotCovered> not_covered;
  for (const EnginePreview::Layer& layer : layers) {
    if (was_not_asked(layer)) {
      const std::string op = model::parse_key(layer.key).op;
      const results::Outcome& outcome =
          layer.from.outcome.ok() ? layer.to.outcome : layer.from.outcome;
      EnginePreview::NotCovered& entry = not_covered[{op, outcome.reason}];
      entry.op = op;
      entry.reason = outcome.reason;
      ++entry.keys;
      for (const EnginePreview::Use& use : layer.uses) {
        entry.nodes += use.nodes;
      }
      continue;
    }
    std::set<std::string> layouts;
    for (const results::EngineChoices* const choices : {&layer.from, &layer.to}) {
      for (const results::EngineChoices::Offer& offer : choices->offers) {
        layouts.insert(offer.layout);
      }
    }
    for (const std::string& layout : layouts) {
      preview.comparisons.push_back(compare(layer, layout));
    }
  }
  std::sort(preview.comparisons.begin(),
            preview.comparisons.end(),
            [](const EnginePreview::Comparison& left, const EnginePreview::Comparison& right) {
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

namespace {

/// Returns what `these` have and `those` lack, in the order of `these`.
std::vector<std::string> missing_from(const std::vector<std::string>& those,
                                      const std::vector<std::string>& these) {
  std::vector<std::string> sorted = those;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> result;
  std::copy_if(
      these.begin(), these.end(), std::back_inserter(result), [&](const std::string& text) {
        return !std::binary_search(sorted.begin(), sorted.end(), text);
      });
  return result;
}

std::string choice_of(const StackDifference::Contents::LayerOffers& offers) {
  return offers.variants.empty() ? "" : offers.variants.front();
}

std::string kind_of(const model::LayerKey& key) {
  return std::string(model::operator_name(key.text));
}

void compare_libraries(const StackDifference::Contents& from,
                       const StackDifference::Contents& to,
                       StackDifference& result) {
  std::map<std::string,
           std::pair<const StackDifference::Contents::Library*,
                     const StackDifference::Contents::Library*>>
      pairs;
  for (const StackDifference::Contents::Library& library : from.libraries) {
    pairs[library.name].first = &library;
  }
  for (const StackDifference::Contents::Library& library : to.libraries) {
    pairs[library.name].second = &library;
  }
  for (const auto& [name, pair] : pairs) {
    const auto [before, after] = pair;
    if (before != nullptr && after != nullptr && before->sha256 == after->sha256) {
      ++result.same_libraries;
      continue;
    }
    StackDifference::Library& difference = result.libraries.emplace_back();
    if (before != nullptr) {
      difference.from = *before;
    }
    if (after != nullptr) {
      difference.to = *after;
    }
    if (before != nullptr && after != nullptr) {
      difference.symbols_added = missing_from(before->symbols, after->symbols);
      difference.symbols_removed = missing_from(after->symbols, before->symbols);
    }
  }
}

/// Adds what one side offers for a layer to the counts of its kind.
void count(const results::EngineChoices& choices,
           bool is_from,
           StackDifference::EngineCounts& counts) {
  const model::LayerSpec spec = model::parse_key(choices.key);
  for (const results::EngineChoices::Offer& offer : choices.offers) {
    counts.asked += is_from ? 1U : 0U;
    (is_from ? counts.without_engine_from : counts.without_engine_to) +=
        results::chosen_engine(spec, offer) == nullptr ? 1U : 0U;
    (is_from ? counts.engines_from : counts.engines_to) +=
        static_cast<std::size_t>(offer.engines.value_or(0));
    for (const results::EngineChoices::Ranking& ranking : offer.rankings) {
      auto& [from, to] = counts.offers[ranking.heuristic];
      (is_from ? from : to) += ranking.configurations.size();
    }
  }
}

void compare_engines(const StackDifference::Contents& from,
                     const StackDifference::Contents& to,
                     StackDifference& result) {
  std::map<model::LayerKey, const results::EngineChoices*> others;
  for (const results::EngineChoices& choices : to.choices) {
    others[choices.key] = &choices;
  }
  for (const results::EngineChoices& before : from.choices) {
    const auto found = others.find(before.key);
    if (found != others.end() && !before.offers.empty() && !found->second->offers.empty()) {
      StackDifference::EngineCounts& counts = result.engines[kind_of(before.key)];
      count(before, true, counts);
      count(*found->second, false, counts);
    }
  }
}

/// Returns a rank that puts lost support first, then a fall-back to the reference, then another
/// choice.
std::tuple<int, const std::string&> severity(const StackDifference::Layer& layer) {
  const bool lost = layer.to_choice.empty();
  const bool other = layer.from_choice != layer.to_choice;
  return {lost ? 0 : layer.fell_back ? 1 : other ? 2 : 3, layer.key.text};
}

}  // namespace

StackDifference stack_difference(const StackDifference::Contents& from,
                                 const StackDifference::Contents& to) {
  StackDifference result;
  result.from = from.name;
  result.to = to.name;
  compare_libraries(from, to, result);
  compare_engines(from, to, result);
  std::map<model::LayerKey, const StackDifference::Contents::LayerOffers*> others;
  for (const StackDifference::Contents::LayerOffers& layer : to.layers) {
    others[layer.key] = &layer;
  }
  for (const StackDifference::Contents::LayerOffers& before : from.layers) {
    const auto found = others.find(before.key);
    if (found == others.end()) {
      continue;
    }
    const StackDifference::Contents::LayerOffers& after = *found->second;
    StackDifference::Layer layer{.key = before.key,
                                 .from_choice = choice_of(before),
                                 .to_choice = choice_of(after),
                                 .fell_back = after.reference_only && !before.reference_only,
                                 .added = missing_from(before.variants, after.variants),
                                 .removed = missing_from(after.variants, before.variants),
                                 .passed_over_by_from = {},
                                 .passed_over_by_to = {}};
    StackDifference::Kind& kind = result.kinds[kind_of(before.key)];
    ++kind.layers;
    kind.unsupported_from += before.variants.empty() ? 1U : 0U;
    kind.unsupported_to += after.variants.empty() ? 1U : 0U;
    kind.variants_from += before.variants.size();
    kind.variants_to += after.variants.size();
    kind.other_choice += layer.from_choice != layer.to_choice ? 1U : 0U;
    if (!layer.added.empty() || !layer.removed.empty() || layer.from_choice != layer.to_choice) {
      result.layers.push_back(std::move(layer));
    }
  }
  std::sort(result.layers.begin(), result.layers.end(), [](const auto& left, const auto& right) {
    return severity(left) < severity(right);
  });
  return result;
}

}  // namespace plumb::analysis
