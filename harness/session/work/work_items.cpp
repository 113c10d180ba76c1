// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/work_items.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/analysis/micro_batch/layer_division.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/name_match.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::session {
namespace {

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return small;
}

/// Texts of one layer that patterns are compared with.
struct LayerTexts {
  std::string_view name{};
  std::vector<std::string> operators{};  ///< in small letters
  std::string_view key{};
};

LayerTexts texts_of(const model::Layer& layer) {
  return {.name = layer.name,
          .operators = {in_small_letters(layer.onnx_op), layer.spec.op},
          .key = layer.key.text};
}

LayerTexts texts_of(const model::LayerKey& key) {
  return {.operators = {model::parse_key(key).op}, .key = key.text};
}

bool matches(const std::string& pattern, const LayerTexts& texts) {
  const std::string small = in_small_letters(pattern);
  return (!texts.name.empty() && matches_pattern(pattern, texts.name)) ||
         matches_pattern(pattern, texts.key) ||
         std::any_of(texts.operators.begin(), texts.operators.end(), [&](const std::string& each) {
           return matches_pattern(small, each);
         });
}

bool matches_any(const std::vector<std::string>& patterns, const LayerTexts& texts) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return matches(pattern, texts);
  });
}

bool is_kept(const suite::ResolvedSuite::Selection& selection, const LayerTexts& texts) {
  return (selection.wanted.empty() || matches_any(selection.wanted, texts)) &&
         !matches_any(selection.excluded, texts);
}

/// A suite's layers that can be selected: those of its models that compute, and those it lists.
std::vector<LayerTexts> selectable_layers(std::span<const PlannedModel> models,
                                          const suite::ResolvedSuite& suite) {
  std::vector<LayerTexts> all;
  for (const PlannedModel& model : models) {
    for (const model::Layer& layer : model.graph.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        all.push_back(texts_of(layer));
      }
    }
  }
  for (const model::ListedLayer& entry : suite.layers) {
    all.push_back(texts_of(entry.key));
  }
  return all;
}

bool matches_fused_form(const std::string& pattern, std::span<const PlannedModel> models) {
  return std::any_of(models.begin(), models.end(), [&](const PlannedModel& model) {
    const std::vector<rewrite::Match> forms = rewrite::matches(model.graph);
    return std::any_of(forms.begin(), forms.end(), [&](const rewrite::Match& form) {
      return matches_pattern(pattern, form.key.text);
    });
  });
}

std::string listed_operators(const std::vector<LayerTexts>& layers) {
  constexpr std::size_t kMaxListed = 30;
  std::set<std::string> operators;
  for (const LayerTexts& layer : layers) {
    operators.insert(layer.operators.back());
  }
  const bool more = operators.size() > kMaxListed;
  if (more) {
    operators.erase(std::next(operators.begin(), kMaxListed), operators.end());
  }
  return fmt::format("{}{}", fmt::join(operators, ", "), more ? ", …" : "");
}

/// Filter of layers by the patterns of a selection.
///
/// A pattern is compared with a layer's name, its operator as in the file ("Conv") and as in the
/// key ("conv"), and its key. Operators are compared without regard to capitals.
class LayerFilter {
 public:
  /// Keeps a reference to the selection.
  explicit LayerFilter(const suite::ResolvedSuite::Selection& selection) : selection_(selection) {}

  [[nodiscard]] bool keeps(const model::Layer& layer) const;
  /// Returns whether a key that a suite lists is kept.
  [[nodiscard]] bool keeps(const model::LayerKey& key) const;
  /// Returns whether a fused form is kept: all its layers are, or its own key is wanted. A form
  /// with an excluded layer is not.
  [[nodiscard]] bool keeps(const model::Graph& graph, const rewrite::Match& match) const;

 private:
  const suite::ResolvedSuite::Selection& selection_;
};

bool LayerFilter::keeps(const model::Layer& layer) const {
  return selection_.empty() || is_kept(selection_, texts_of(layer));
}

bool LayerFilter::keeps(const model::LayerKey& key) const {
  return selection_.empty() || is_kept(selection_, texts_of(key));
}

bool LayerFilter::keeps(const model::Graph& graph, const rewrite::Match& match) const {
  if (selection_.empty()) {
    return true;
  }
  const LayerTexts fused{.key = match.key.text};
  if (matches_any(selection_.excluded, fused)) {
    return false;
  }
  bool all_wanted = true;
  for (const model::LayerId id : match.layers) {
    const LayerTexts texts = texts_of(graph.layers[id]);
    if (matches_any(selection_.excluded, texts)) {
      return false;
    }
    all_wanted = all_wanted && (selection_.wanted.empty() || matches_any(selection_.wanted, texts));
  }
  return all_wanted || matches_any(selection_.wanted, fused);
}

}  // namespace

void check_wanted_layers(std::span<const PlannedModel> models, const suite::ResolvedSuite& suite) {
  const std::vector<LayerTexts> layers = selectable_layers(models, suite);
  for (const std::string& pattern : suite.selection.wanted) {
    const bool matched = std::any_of(layers.begin(), layers.end(), [&](const LayerTexts& each) {
      return matches(pattern, each);
    });
    if (!matched && !matches_fused_form(pattern, models)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("no layer matches '--layer {}' by name, operator or key; the "
                              "operators are {}; `plumb model show MODEL` lists names and keys",
                              pattern,
                              listed_operators(layers)));
    }
  }
}

namespace {

double compute_weight(const model::LayerCost& cost) {
  const auto bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
  return cost.macs > 0 ? static_cast<double>(cost.macs) : static_cast<double>(bytes.value) / 1000.0;
}

/// A collection of work items by key, in order of first occurrence.
class Items {
 public:
  void add(const model::LayerKey& key, double weight_each, std::int64_t count) {
    const auto [place, is_new] = index_.try_emplace(key, items_.size());
    if (is_new) {
      items_.push_back(WorkSource::Item{.key = key, .occurrences = 0, .weight = 0.0, .caches = {}});
    }
    WorkSource::Item& item = items_[place->second];
    item.occurrences += count;
    item.weight += weight_each * static_cast<double>(count);
  }
  std::vector<WorkSource::Item> take() { return std::move(items_); }

 private:
  std::vector<WorkSource::Item> items_;
  std::unordered_map<model::LayerKey, std::size_t> index_;
};

bool contains(const rewrite::Match& whole, const rewrite::Match& part) {
  return whole.layers.size() > part.layers.size() &&
         std::includes(
             whole.layers.begin(), whole.layers.end(), part.layers.begin(), part.layers.end());
}

bool overlap(const rewrite::Match& left, const rewrite::Match& right) {
  return std::any_of(left.layers.begin(), left.layers.end(), [&](model::LayerId id) {
    return std::binary_search(right.layers.begin(), right.layers.end(), id);
  });
}

/// Finds the matches worth measuring: those that no other match contains, and some of their parts.
/// Where two of them share layers, a model can use one only. What that leaves of the other is worth
/// measuring as well. Example: of a sum of two convolutions, one takes the addition along.
std::vector<rewrite::Match> worthwhile_matches(const model::Graph& graph) {
  const std::vector<rewrite::Match> all = rewrite::matches(graph);
  std::vector<const rewrite::Match*> largest;
  std::vector<const rewrite::Match*> parts;
  for (const rewrite::Match& match : all) {
    const bool part = std::any_of(all.begin(), all.end(), [&](const rewrite::Match& other) {
      return contains(other, match);
    });
    (part ? parts : largest).push_back(&match);
  }
  std::vector<std::pair<const rewrite::Match*, const rewrite::Match*>> rivals;
  for (const rewrite::Match* const match : largest) {
    for (const rewrite::Match* const other : largest) {
      if (match != other && overlap(*match, *other)) {
        rivals.emplace_back(match, other);
      }
    }
  }
  std::vector<rewrite::Match> result;
  result.reserve(all.size());
  for (const rewrite::Match* const match : largest) {
    result.push_back(*match);
  }
  for (const rewrite::Match* const part : parts) {
    const bool left_over = std::any_of(rivals.begin(), rivals.end(), [&](const auto& pair) {
      return contains(*pair.first, *part) && !overlap(*part, *pair.second);
    });
    if (left_over) {
      result.push_back(*part);
    }
  }
  return result;
}

/// Returns whether a row settles its key and cache mode. It does if it is timed beyond the race, or
/// refuses the key as a whole, that is without a variant.
bool settles(const results::Measurement& row) {
  if (row.purpose == results::Purpose::kRace) {
    return false;
  }
  return row.outcome.timed() || row.variant.empty();
}

}  // namespace

WorkSource::Shard parse_shard(std::string_view text) {
  WorkSource::Shard shard;
  const std::size_t slash = text.find('/');
  const char* const end = text.data() + text.size();
  bool good = slash != std::string_view::npos;
  if (good) {
    const auto first = std::from_chars(text.data(), text.data() + slash, shard.index);
    const auto second = std::from_chars(text.data() + slash + 1, end, shard.count);
    good = first.ec == std::errc{} && first.ptr == text.data() + slash &&
           second.ec == std::errc{} && second.ptr == end && shard.index >= 1 &&
           shard.index <= shard.count && shard.count <= 100'000;
  }
  if (!good) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is not a shard: write I/N with 1 ≤ I ≤ N, such as 2/4", text));
  }
  return shard;
}

std::vector<WorkSource::Item> work_items(std::span<const PlannedModel> models,
                                         std::span<const model::ListedLayer> layers,
                                         std::span<const results::CacheMode> caches,
                                         const WorkSource::Shard& shard,
                                         const suite::ResolvedSuite::Selection& selection) {
  const LayerFilter filter(selection);
  Items collected;
  for (const PlannedModel& model : models) {
    for (const model::Layer& layer : model.graph.layers) {
      if (layer.role == model::Layer::Role::kCompute && filter.keeps(layer)) {
        collected.add(layer.key, compute_weight(layer.cost), 1);
      }
    }
    for (const rewrite::Match& match : worthwhile_matches(model.graph)) {
      if (filter.keeps(model.graph, match)) {
        collected.add(match.key, compute_weight(match.cost), 1);
      }
    }
  }
  for (const model::ListedLayer& entry : layers) {
    if (filter.keeps(entry.key)) {
      collected.add(
          entry.key, compute_weight(model::compute_cost(model::parse_key(entry.key))), entry.count);
    }
  }

  std::vector<WorkSource::Item> items = collected.take();
  std::erase_if(items, [&](const WorkSource::Item& item) {
    return hash64(std::as_bytes(std::span(item.key.text))) % shard.count != shard.index - 1;
  });
  for (WorkSource::Item& item : items) {
    item.caches.assign(caches.begin(), caches.end());
  }
  std::stable_sort(
      items.begin(), items.end(), [](const WorkSource::Item& left, const WorkSource::Item& right) {
        return left.weight != right.weight ? left.weight > right.weight : left.key < right.key;
      });
  return items;
}

std::vector<model::ListedLayer> list_batch_parts(std::span<const PlannedModel> models,
                                                 results::VariantId::DivisionRule::Policy policy) {
  std::map<model::LayerKey, std::int64_t> counts;
  for (const PlannedModel& model : models) {
    for (const model::Layer& layer : model.graph.layers) {
      if (layer.role != model::Layer::Role::kCompute) {
        continue;
      }
      const std::vector<std::int64_t> sizes = analysis::part_sizes(layer.spec, policy);
      for (const std::int64_t size : sizes) {
        if (size != sizes.back()) {
          ++counts[model::to_key(model::with_batch(layer.spec, size))];
        }
      }
      for (const model::LayerKey& key :
           sizes.empty() ? std::vector<model::LayerKey>{} : model::part_additions(layer.spec)) {
        ++counts[key];
      }
    }
  }
  std::vector<model::ListedLayer> entries;
  entries.reserve(counts.size());
  for (const auto& [key, count] : counts) {
    entries.push_back({key, count, {}});
  }
  return entries;
}

std::vector<WorkSource::Item> without_measured(std::vector<WorkSource::Item> items,
                                               std::span<const results::StoredMeasurement> rows) {
  std::set<std::pair<model::LayerKey, results::CacheMode>> settled;
  for (const results::StoredMeasurement& row : rows) {
    const results::Measurement& measurement = row.measurement;
    if (settles(measurement)) {
      settled.emplace(measurement.key, measurement.cache);
    }
  }
  for (WorkSource::Item& item : items) {
    std::erase_if(item.caches, [&](results::CacheMode cache) {
      return settled.contains({item.key, cache});
    });
  }
  std::erase_if(items, [](const WorkSource::Item& item) { return item.caches.empty(); });
  return items;
}

std::vector<WorkSource::Confirmation> confirmations(
    std::span<const results::StoredMeasurement> rows, const WorkSource::Confirmation::Rule& rule) {
  struct Candidate {
    std::string variant;
    Seconds median{};
    bool library_choice = false;
  };
  struct Seen {
    std::set<results::CacheMode> caches;
    std::vector<Candidate> hot;
    std::map<std::string, std::set<std::int64_t>> confirmed;  // processes by variant
  };
  std::map<model::LayerKey, Seen> keys;
  for (const results::StoredMeasurement& row : rows) {
    const results::Measurement& m = row.measurement;
    if (m.purpose == results::Purpose::kConfirm) {
      keys[m.key].confirmed[m.variant].insert(m.process);
    } else if (m.purpose == results::Purpose::kFull && m.outcome.timed() && m.summary.n > 0) {
      Seen& seen = keys[m.key];
      seen.caches.insert(m.cache);
      if (m.cache == results::CacheMode::kNone) {
        seen.hot.push_back({m.variant, m.summary.median, m.library_choice});
      }
    }
  }

  std::vector<WorkSource::Confirmation> wanted;
  for (auto& [key, seen] : keys) {
    // A process that died before it named a variant confirmed none.
    seen.confirmed.erase("");
    if (seen.hot.empty()) {
      continue;
    }
    if (!seen.confirmed.empty()) {
      WorkSource::Confirmation again{key, {results::CacheMode::kNone}, {}};
      std::size_t processes = 0;
      for (const auto& [variant, of_variant] : seen.confirmed) {
        again.variants.push_back(variant);
        processes = std::max(processes, of_variant.size());
      }
      if (processes < rule.processes) {
        wanted.push_back(std::move(again));
      }
      continue;
    }
    std::stable_sort(seen.hot.begin(), seen.hot.end(), [](const Candidate& a, const Candidate& b) {
      return a.median < b.median;
    });
    WorkSource::Confirmation first{key, {seen.caches.begin(), seen.caches.end()}, {}};
    for (const Candidate& candidate : seen.hot) {
      const bool close = candidate.median <= seen.hot.front().median * (1.0 + rule.margin);
      if ((close && first.variants.size() < rule.max_variants) || candidate.library_choice) {
        first.variants.push_back(candidate.variant);
      }
    }
    wanted.push_back(std::move(first));
  }
  return wanted;
}

WorkSource::Counts selected_layers(std::span<const PlannedModel> models,
                                   const suite::ResolvedSuite& suite) {
  check_wanted_layers(models, suite);
  const auto count = [&](const suite::ResolvedSuite::Selection& selection) {
    return work_items(models, suite.layers, suite.caches, WorkSource::Shard{}, selection).size();
  };
  const WorkSource::Counts counts{.selected = count(suite.selection), .all = count({})};
  if (counts.selected == 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--exclude {}' leaves no layer to measure",
                            fmt::join(suite.selection.excluded, "' and '--exclude ")));
  }
  return counts;
}

}  // namespace plumb::session
