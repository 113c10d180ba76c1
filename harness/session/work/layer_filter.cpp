// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/layer_filter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/name_pattern.hpp"

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

bool is_kept(const suite::LayerSelection& selection, const LayerTexts& texts) {
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

}  // namespace

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

}  // namespace plumb::session
