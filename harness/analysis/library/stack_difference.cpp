// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/library/stack_difference.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "harness/results/engine_promise.hpp"

namespace plumb::analysis {
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

std::string choice_of(const StackContents::LayerOffers& offers) {
  return offers.variants.empty() ? "" : offers.variants.front();
}

/// Returns the kind of a layer: "conv" for "v1:conv;in=…".
std::string kind_of(const model::LayerKey& key) {
  const std::size_t begin = key.text.find(':') + 1;
  return key.text.substr(begin, key.text.find(';') - begin);
}

void compare_libraries(const StackContents& from,
                       const StackContents& to,
                       StackDifference& result) {
  std::map<std::string, std::pair<const LibraryContents*, const LibraryContents*>> pairs;
  for (const LibraryContents& library : from.libraries) {
    pairs[library.name].first = &library;
  }
  for (const LibraryContents& library : to.libraries) {
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
  for (const results::EngineOffer& offer : choices.offers) {
    counts.asked += is_from ? 1U : 0U;
    (is_from ? counts.without_engine_from : counts.without_engine_to) +=
        results::chosen_engine(spec, offer) == nullptr ? 1U : 0U;
    (is_from ? counts.engines_from : counts.engines_to) +=
        static_cast<std::size_t>(offer.engines.value_or(0));
    for (const results::EngineRanking& ranking : offer.rankings) {
      auto& [from, to] = counts.offers[ranking.heuristic];
      (is_from ? from : to) += ranking.configurations.size();
    }
  }
}

void compare_engines(const StackContents& from, const StackContents& to, StackDifference& result) {
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

StackDifference stack_difference(const StackContents& from, const StackContents& to) {
  StackDifference result;
  result.from = from.name;
  result.to = to.name;
  compare_libraries(from, to, result);
  compare_engines(from, to, result);
  std::map<model::LayerKey, const StackContents::LayerOffers*> others;
  for (const StackContents::LayerOffers& layer : to.layers) {
    others[layer.key] = &layer;
  }
  for (const StackContents::LayerOffers& before : from.layers) {
    const auto found = others.find(before.key);
    if (found == others.end()) {
      continue;
    }
    const StackContents::LayerOffers& after = *found->second;
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
