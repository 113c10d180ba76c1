// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/variant_search.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/results/labels/variant_id.hpp"

namespace plumb::engine {
namespace {

constexpr Seconds kBudget{2.0};
constexpr double kMinFaster = 0.97;  // of the library's time; times of layers alone are rough
constexpr std::size_t kTriedPerKey = 4;

class Search {
 public:
  Search(worker::Backend& backend,
         const model::Graph& graph,
         const worker::ModeRequest& request,
         const measure::Clock& clock)
      : backend_(backend),
        graph_(graph),
        price_(request.reorder_per_byte),
        clock_(clock),
        end_(clock() + kBudget) {
    for (const worker::ModeStep& step : request.steps) {
      choices_.try_emplace(step.key, &step.choices);
      if (step.choices.size() == 1) {
        fixed_.try_emplace(step.key, step.choices.front().variant);
      }
    }
  }

  worker::LayerVariants run() {
    if (fixed_.size() == choices_.size()) {
      return fixed_;
    }
    try_set(fixed_);
    if (!best_cost_) {
      return fixed_;  // cannot be planned at all; the caller's own attempt will give the reason
    }
    order_keys(backend_.prepare_model(graph_, {fixed_, false}));
    try_layouts();
    while (descend()) {
    }
    return best_;
  }

 private:
  /// Key with the variants that are worth trying for it.
  struct Candidate {
    model::LayerKey key;
    std::vector<worker::VariantTime> tried;
    Seconds gain{};  ///< over all its layers, reorders aside
  };

  [[nodiscard]] bool ended() const { return clock_() >= end_; }

  /// Returns the time of the variant that the plan executes. A variant without a time counts as the
  /// key's fastest.
  [[nodiscard]] Seconds time_of(const model::LayerKey& key, const std::string& variant) const {
    const auto found = choices_.find(key);
    if (found == choices_.end()) {
      return Seconds(0);
    }
    const std::vector<worker::VariantTime>& choices = *found->second;
    const auto named = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) {
      return choice.variant == variant;
    });
    return named == choices.end() ? choices.front().seconds : named->seconds;
  }

  [[nodiscard]] std::optional<Seconds> cost_of(const worker::LayerVariants& variants) {
    const worker::PreparedModel model = backend_.prepare_model(graph_, {variants, false});
    if (!model.outcome.ok()) {
      return std::nullopt;
    }
    Seconds cost = price_ * static_cast<double>(model.reordered.value);
    for (model::LayerId id = 0; id < model.variants.size(); ++id) {
      if (!model.variants[id].empty()) {
        cost += time_of(graph_.layers[id].key, model.variants[id]);
      }
    }
    return cost;
  }

  bool try_set(const worker::LayerVariants& variants) {
    const std::optional<Seconds> cost = cost_of(variants);
    if (!cost || (best_cost_ && *cost >= *best_cost_)) {
      return false;
    }
    best_cost_ = cost;
    best_ = variants;
    return true;
  }

  /// Lists the keys with variants worth trying against the library's own choices, most to gain
  /// first.
  void order_keys(const worker::PreparedModel& own) {
    std::map<std::string, Candidate> candidates;
    for (model::LayerId id = 0; id < own.variants.size(); ++id) {
      const model::LayerKey& key = graph_.layers[id].key;
      const auto found = choices_.find(key);
      if (own.variants[id].empty() || found == choices_.end() || fixed_.contains(key)) {
        continue;
      }
      const Seconds now = time_of(key, own.variants[id]);
      Candidate& candidate = candidates[key.text];
      candidate.key = key;
      candidate.gain += now - found->second->front().seconds;
      for (const worker::VariantTime& choice : *found->second) {
        const bool known =
            std::any_of(candidate.tried.begin(), candidate.tried.end(), [&](const auto& one) {
              return one.variant == choice.variant;
            });
        if (!known && choice.seconds < kMinFaster * now && candidate.tried.size() < kTriedPerKey) {
          candidate.tried.push_back(choice);
        }
      }
    }
    for (auto& [text, candidate] : candidates) {
      if (!candidate.tried.empty()) {
        candidates_.push_back(std::move(candidate));
      }
    }
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) {
      return a.gain > b.gain;
    });
  }

  /// Tries every key's fastest variant, then for each layout every key's fastest in it.
  void try_layouts() {
    std::set<std::string> layouts;
    worker::LayerVariants fastest = fixed_;
    for (const Candidate& candidate : candidates_) {
      fastest[candidate.key] = candidate.tried.front().variant;
      for (const worker::VariantTime& choice : candidate.tried) {
        layouts.emplace(results::VariantId(choice.variant).layout());
      }
    }
    try_set(fastest);
    for (const std::string& layout : layouts) {
      worker::LayerVariants set = fixed_;
      for (const Candidate& candidate : candidates_) {
        for (const worker::VariantTime& choice : candidate.tried) {
          if (results::VariantId(choice.variant).layout() == layout) {
            set.try_emplace(candidate.key, choice.variant);
          }
        }
      }
      if (!ended()) {
        try_set(set);
      }
    }
  }

  /// Tries other variants key by key. Returns whether another round may find a better set.
  bool descend() {
    bool better = false;
    for (const Candidate& candidate : candidates_) {
      // Without its key, the library chooses again, which may fit the new neighbours better.
      worker::LayerVariants without = best_;
      without.erase(candidate.key);
      if (best_.contains(candidate.key) && !ended()) {
        better = try_set(without) || better;
      }
      for (const worker::VariantTime& choice : candidate.tried) {
        worker::LayerVariants other = without;
        other[candidate.key] = choice.variant;
        if (other != best_ && !ended()) {
          better = try_set(other) || better;
        }
      }
    }
    return better && !ended();
  }

  worker::Backend& backend_;
  const model::Graph& graph_;
  Seconds price_;
  const measure::Clock& clock_;
  Seconds end_;
  std::unordered_map<model::LayerKey, const std::vector<worker::VariantTime>*> choices_;
  worker::LayerVariants fixed_;
  std::vector<Candidate> candidates_;
  worker::LayerVariants best_;
  std::optional<Seconds> best_cost_;
};

}  // namespace

worker::LayerVariants chosen_variants(worker::Backend& backend,
                                      const model::Graph& graph,
                                      const worker::ModeRequest& request,
                                      const measure::Clock& clock) {
  return Search(backend, graph, request, clock).run();
}

}  // namespace plumb::engine
