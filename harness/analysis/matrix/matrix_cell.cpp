// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "harness/analysis/matrix/matrix.hpp"
#include "harness/base/error.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {

Matrix::Cell middle_cell(std::span<const Matrix::Value* const> runs) {
  Matrix::Cell cell;
  std::vector<Estimate> estimates;
  for (const Matrix::Value* const value : runs) {
    if (value->estimate) {
      estimates.push_back(*value->estimate);
      cell.disturbed = cell.disturbed || value->disturbed;
    } else {
      cell.missing = value->missing;
      ++cell.left_out;
    }
  }
  cell.runs = estimates.size();
  if (!estimates.empty()) {
    cell.value = middle_of(estimates);
  }
  return cell;
}

Matrix::Cell mean_cell(std::span<const Matrix::Cell> models) {
  Matrix::Cell cell;
  std::vector<double> values;
  for (const Matrix::Cell& model : models) {
    if (model.value) {
      values.push_back(model.value->value);
      cell.runs = std::max(cell.runs, model.runs);
      cell.disturbed = cell.disturbed || model.disturbed;
    } else {
      cell.missing = model.missing;
      ++cell.left_out;
    }
  }
  cell.models = values.size();
  if (const auto mean = stats::geometric_mean(values)) {
    cell.value = Estimate{mean->mean, mean->low, mean->high};
  }
  return cell;
}

Matrix::Cell relative_cell(Matrix::Cell cell,
                           const Matrix::Cell& reference,
                           const std::string& name) {
  if (cell.value && reference.value) {
    cell.value = ratio_of(*cell.value, *reference.value);
    cell.disturbed = cell.disturbed || reference.disturbed;
  } else if (cell.value) {
    cell.value.reset();
    cell.runs = 0;
    cell.missing = reference.missing;
    cell.missing.kind = Matrix::Value::Missing::Kind::kNoReference;
    cell.missing.word = "no reference";
    cell.missing.reason = name + " has no value: " + reference.missing.reason;
  }
  return cell;
}

namespace {

using Dims = std::map<std::string, std::int64_t>;

/// Returns the models of which there are instances with other extents.
std::set<std::string> models_of_several_extents(std::span<const Matrix::Run> runs) {
  std::map<std::string, std::set<Dims>> extents;
  for (const Matrix::Run& run : runs) {
    for (const ModelResults& model : run.models) {
      extents[full_name(model.instance)].insert(model.instance.dims);
    }
  }
  std::set<std::string> several;
  for (const auto& [name, found] : extents) {
    if (found.size() > 1) {
      several.insert(name);
    }
  }
  return several;
}

std::string name_of(const ModelInstance& instance, bool with_extents) {
  std::string name = full_name(instance);
  if (with_extents) {
    for (const auto& [axis, extent] : instance.dims) {
      name += fmt::format(", {} {}", axis, extent);
    }
  }
  return name;
}

Matrix::Value value_of(const Matrix::Run& run,
                       const ModelResults& model,
                       const Matrix::Query& query,
                       const std::string& mode,
                       results::BoundKind bound) {
  if (!run.problem.empty()) {
    return {{},
            {Matrix::Value::Missing::Kind::kNotAnalysed, "no results", run.problem, {}, {}, {}},
            false};
  }
  return evaluate(query.quantity, mode, bound, model);
}

/// Returns whether a place is the wanted one, or one of several that share its name: "default" is
/// the beginning of "default (library 3.1)".
bool is_named(const std::string& place, const std::string& wanted) {
  return place == wanted || place.starts_with(wanted + " (") || place.starts_with(wanted + ", ");
}

/// Bounds of one stack, by system, threads and model: those of its newest run.
class BoundsOfStack {
 public:
  /// Keeps pointers into the runs. Throws Error{kUser} if none is of the stack.
  BoundsOfStack(const std::string& stack,
                std::span<const Matrix::Run> runs,
                std::span<const Coordinates> places) {
    bool known = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!is_named(at(places[i], Axis::kStack), stack)) {
        continue;
      }
      known = true;
      for (const ModelResults& model : runs[i].models) {
        Newest& newest = models_[key_of(places[i], model)];
        if (!model.bounds.empty() && (!newest.model || newest.started < runs[i].header.started)) {
          newest = {&model, runs[i].header.started};
        }
      }
    }
    if (!known) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("none of these runs is of the stack '{}', whose bounds are to hold for "
                      "all: name a run of it, too",
                      stack));
    }
  }

  /// Returns a model of a run at `place` with these bounds, or with none.
  [[nodiscard]] ModelResults apply(const Coordinates& place, ModelResults model) const {
    const auto found = models_.find(key_of(place, model));
    const ModelResults* const other = found == models_.end() ? nullptr : found->second.model;
    model.bounds = other != nullptr ? other->bounds : std::vector<ModelResults::BoundTime>();
    model.lacks = other != nullptr ? other->lacks : "";
    return model;
  }

 private:
  using Key = std::tuple<std::string, std::string, ModelInstance>;
  struct Newest {
    const ModelResults* model = nullptr;
    Timestamp started{};
  };
  static Key key_of(const Coordinates& place, const ModelResults& model) {
    return {at(place, Axis::kSystem), at(place, Axis::kThreads), model.instance};
  }

  std::map<Key, Newest> models_;
};

void keep_only(Axis axis,
               std::span<const std::string> wanted,
               std::vector<Matrix::Sample>& samples) {
  const std::vector<std::string> places = list_places(samples, axis);
  for (const std::string& each : wanted) {
    if (std::none_of(places.begin(), places.end(), [&](const std::string& place) {
          return is_named(place, each);
        })) {
      throw Error(Error::Kind::kUser,
                  fmt::format("no result of these runs has the {} '{}': there are {}",
                              to_text(axis),
                              each,
                              fmt::join(places, "; ")));
    }
  }
  std::erase_if(samples, [&](const Matrix::Sample& sample) {
    return std::none_of(wanted.begin(), wanted.end(), [&](const std::string& each) {
      return is_named(at(sample.place, axis), each);
    });
  });
}

}  // namespace

std::vector<Matrix::Sample> collect_samples(std::span<const Matrix::Run> runs,
                                            const Matrix::Query& query) {
  const std::vector<Coordinates> places = place_runs(runs);
  const std::set<std::string> several = models_of_several_extents(runs);
  const bool of_bounds = has_bound(query.quantity);
  std::optional<BoundsOfStack> others;
  if (!query.bounds_of.empty()) {
    others.emplace(query.bounds_of, runs, places);
  }
  const std::vector<results::BoundKind> bounds =
      of_bounds ? query.bounds : std::vector{results::BoundKind::kLibrary};
  std::vector<Matrix::Sample> samples;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const ModelResults& of_run : runs[i].models) {
      const ModelResults model = others ? others->apply(places[i], of_run) : of_run;
      Coordinates place = places[i];
      at(place, Axis::kModel) =
          name_of(model.instance, several.contains(full_name(model.instance)));
      at(place, Axis::kBatch) = std::to_string(model.instance.batch);
      at(place, Axis::kType) = model.instance.dtype;
      for (const std::string& mode : query.modes) {
        for (const results::BoundKind bound : bounds) {
          at(place, Axis::kMode) = mode;
          at(place, Axis::kBound) = of_bounds ? to_text(bound) : "";
          samples.push_back(
              {place, i, &of_run.instance, value_of(runs[i], model, query, mode, bound)});
          samples.back().value.missing.run = i;
          samples.back().value.missing.instance = model.instance;
        }
      }
    }
  }
  if (samples.empty()) {
    throw Error(Error::Kind::kUser,
                "these runs have no models: name runs of a suite with models ('plumb runs')");
  }
  for (const auto& [axis, wanted] : query.only) {
    keep_only(axis, wanted, samples);
  }
  if (samples.empty()) {
    throw Error(Error::Kind::kUser,
                "no result of these runs has all of what was chosen: choose less");
  }
  return samples;
}

std::vector<std::string> list_places(std::span<const Matrix::Sample> samples, Axis axis) {
  std::vector<std::string> places;
  std::unordered_set<std::string> seen;
  for (const Matrix::Sample& sample : samples) {
    if (seen.insert(at(sample.place, axis)).second) {
      places.push_back(at(sample.place, axis));
    }
  }
  if (axis == Axis::kBatch || axis == Axis::kThreads) {
    std::stable_sort(
        places.begin(), places.end(), [](const std::string& one, const std::string& other) {
          return one.size() != other.size() ? one.size() < other.size() : one < other;
        });
  }
  return places;
}

}  // namespace plumb::analysis
