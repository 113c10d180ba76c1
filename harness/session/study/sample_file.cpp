// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/sample_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::session {
namespace {

constexpr std::uintmax_t kMaxFile = std::uintmax_t{256} << 20;
constexpr std::size_t kMaxEntries = 100'000;
constexpr std::size_t kMaxValues = 20'000;
// No measurement lies beyond. Squares and ratios of what lies between are finite.
constexpr double kSmallest = 1e-60;
constexpr double kLargest = 1e60;

/// A place in a file, for messages. fail() throws an error that names the place and what is wrong.
struct Place {
  std::string text;
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Error::Kind::kUser, text + ": " + what);
  }
  [[nodiscard]] Place at(const std::string& step) const { return {text + "/" + step}; }
};

nlohmann::json read_json(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) {
    throw Error(Error::Kind::kUser,
                fmt::format("cannot read '{}': check the path and its permissions", file.string()));
  }
  if (size > kMaxFile) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "'{}' has {} bytes; at most {} are read: split it", file.string(), size, kMaxFile));
  }
  try {
    return nlohmann::json::parse(in);
  } catch (const nlohmann::json::exception& fault) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is not JSON: {}", file.string(), fault.what()));
  }
}

const nlohmann::json& list_in(const nlohmann::json& document,
                              const char* name,
                              const Place& place) {
  const auto found = document.is_object() ? document.find(name) : document.end();
  if (found == document.end() || !found->is_array()) {
    place.fail(fmt::format("expected an object with a list '{}'", name));
  }
  if (found->size() > kMaxEntries) {
    place.fail(
        fmt::format("{} entries in '{}': at most {} are read", found->size(), name, kMaxEntries));
  }
  return *found;
}

/// Reads the id of an entry, which no entry before it has.
std::string id_in(const nlohmann::json& entry, std::set<std::string>& known, const Place& place) {
  const auto found = entry.is_object() ? entry.find("id") : entry.end();
  if (found == entry.end() || !found->is_string()) {
    place.fail("expected an object with a text 'id'");
  }
  std::string id = found->get<std::string>();
  if (!known.insert(id).second) {
    place.fail(fmt::format("the id '{}' occurs twice", id));
  }
  return id;
}

std::vector<double> numbers(const nlohmann::json& entry,
                            const char* name,
                            bool may_be_null,
                            const Place& place) {
  const auto found = entry.is_object() ? entry.find(name) : entry.end();
  if (found == entry.end() || !found->is_array()) {
    place.fail(fmt::format("expected a list of numbers '{}'", name));
  }
  if (found->size() > kMaxValues) {
    place.fail(
        fmt::format("{} values in '{}': at most {} are read", found->size(), name, kMaxValues));
  }
  std::vector<double> result;
  for (const nlohmann::json& value : *found) {
    if (value.is_null() && may_be_null) {
      result.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (value.is_number()) {
      const double number = value.get<double>();
      if (number != 0.0 && !(std::abs(number) >= kSmallest && std::abs(number) <= kLargest)) {
        place.fail(fmt::format("value {} of '{}' is {:g}: magnitudes from {:g} to {:g} are read",
                               result.size(),
                               name,
                               number,
                               kSmallest,
                               kLargest));
      }
      result.push_back(number);
    } else {
      place.fail(fmt::format("value {} of '{}' is not a number", result.size(), name));
    }
  }
  return result;
}

analysis::PairedSamples pairs_in(const nlohmann::json& entry,
                                 std::string name,
                                 const Place& place) {
  analysis::PairedSamples samples;
  samples.name = std::move(name);
  samples.baseline = numbers(entry, "baseline", true, place);
  samples.candidate = numbers(entry, "candidate", true, place);
  if (samples.baseline.size() != samples.candidate.size()) {
    place.fail(
        fmt::format("{} values in 'baseline' and {} in 'candidate': rounds are pairs; null "
                    "stands for one that failed",
                    samples.baseline.size(),
                    samples.candidate.size()));
  }
  return samples;
}

stats::MarkedChanges changes_in(const nlohmann::json& list,
                                std::size_t length,
                                const Place& place) {
  if (!list.is_array()) {
    place.fail("expected a list of change points");
  }
  stats::MarkedChanges changes;
  for (const nlohmann::json& value : list) {
    if (!value.is_number_unsigned() || value.get<std::size_t>() >= length) {
      place.fail(fmt::format("change point {} is not an index below {}", changes.size(), length));
    }
    changes.push_back(value.get<std::size_t>());
  }
  return changes;
}

/// Looks for a series of the Turing Change Point Dataset near its annotations.
std::optional<std::filesystem::path> find_series_file(const std::filesystem::path& annotations,
                                                      const std::string& name) {
  const std::filesystem::path folder = annotations.parent_path();
  for (const std::filesystem::path& base : {folder,
                                            folder / "datasets",
                                            folder / ".." / "datasets",
                                            folder / ".." / ".." / "datasets"}) {
    for (const std::filesystem::path& path :
         {base / (name + ".json"), base / name / (name + ".json")}) {
      if (std::filesystem::is_regular_file(path)) {
        return path;
      }
    }
  }
  return std::nullopt;
}

AnnotatedSet read_dataset(const nlohmann::json& annotations, const std::filesystem::path& file) {
  AnnotatedSet set;
  for (const auto& [name, annotators] : annotations.items()) {
    const Place place = Place{"'" + file.string() + "'"}.at(name);
    if (name.find('/') != std::string::npos || !annotators.is_object() || annotators.empty()) {
      place.fail("expected an object with a list of change points by annotator");
    }
    const auto path = find_series_file(file, name);
    const nlohmann::json document = path ? read_json(*path) : nlohmann::json();
    const auto found = document.is_object() ? document.find("series") : document.end();
    if (!path || found == document.end() || !found->is_array() || found->size() != 1) {
      set.skipped.push_back(name);
      continue;
    }
    AnnotatedSet::Series entry;
    entry.series = {name, numbers(found->front(), "raw", true, Place{"'" + path->string() + "'"})};
    for (const auto& [annotator, list] : annotators.items()) {
      entry.annotators.push_back(changes_in(list, entry.series.values.size(), place.at(annotator)));
    }
    set.series.push_back(std::move(entry));
  }
  return set;
}

}  // namespace

std::vector<analysis::PairedComparison::Question> read_paired_samples(
    const std::filesystem::path& file) {
  const nlohmann::json document = read_json(file);
  const Place top{"'" + file.string() + "'"};
  std::vector<analysis::PairedComparison::Question> questions;
  std::set<std::string> ids;
  for (const nlohmann::json& entry : list_in(document, "comparisons", top)) {
    const Place place = top.at(fmt::format("comparisons/{}", questions.size()));
    analysis::PairedComparison::Question question;
    question.id = id_in(entry, ids, place);
    if (const auto whole = entry.find("end_to_end"); whole != entry.end()) {
      question.end_to_end = pairs_in(*whole, "end_to_end", place.at("end_to_end"));
    }
    if (const auto layers = entry.find("layers"); layers != entry.end()) {
      if (!layers->is_object() || layers->size() > kMaxEntries) {
        place.fail(
            fmt::format("expected an object 'layers' of at most {} layers by name", kMaxEntries));
      }
      for (const auto& [name, samples] : layers->items()) {
        question.layers.push_back(pairs_in(samples, name, place.at("layers/" + name)));
      }
    }
    if (!question.end_to_end && question.layers.empty()) {
      place.fail("neither 'end_to_end' nor 'layers': nothing to compare");
    }
    questions.push_back(std::move(question));
  }
  return questions;
}

std::vector<AnnotatedSet::NamedSeries> read_series(const std::filesystem::path& file) {
  const nlohmann::json document = read_json(file);
  const Place top{"'" + file.string() + "'"};
  std::vector<AnnotatedSet::NamedSeries> result;
  std::set<std::string> ids;
  for (const nlohmann::json& entry : list_in(document, "series", top)) {
    const Place place = top.at(fmt::format("series/{}", result.size()));
    std::string id = id_in(entry, ids, place);
    result.push_back({std::move(id), numbers(entry, "values", true, place)});
  }
  return result;
}

AnnotatedSet read_annotated_series(const std::filesystem::path& file) {
  const nlohmann::json document = read_json(file);
  const Place top{"'" + file.string() + "'"};
  if (document.is_object() && !document.contains("series")) {
    return read_dataset(document, file);
  }
  AnnotatedSet set;
  std::set<std::string> ids;
  for (const nlohmann::json& entry : list_in(document, "series", top)) {
    const Place place = top.at(fmt::format("series/{}", set.series.size()));
    std::string id = id_in(entry, ids, place);
    AnnotatedSet::NamedSeries series{std::move(id), numbers(entry, "values", true, place)};
    const auto found = entry.find("change_points");
    if (found == entry.end()) {
      place.fail("expected a list 'change_points'");
    }
    stats::MarkedChanges changes = changes_in(*found, series.values.size(), place);
    set.series.push_back({std::move(series), {std::move(changes)}});
  }
  return set;
}

}  // namespace plumb::session
