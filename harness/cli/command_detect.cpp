// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/sample_file.hpp"
#include "harness/store/store.hpp"
#include "reporting/change_documents.hpp"

namespace plumb {
namespace {

struct DetectOptions {
  std::vector<std::string> keys;
  std::string input;
};

SeriesDetection detect_in(const std::string& id, std::span<const double> values) {
  try {
    return {id, detect_changes(values)};
  } catch (const Error& error) {
    throw Error(error.kind(), "series '" + id + "': " + error.what());
  }
}

/// Returns the keys that a run measured, each once.
std::vector<std::string> keys_of(const Store& store, const RunId& run) {
  std::vector<std::string> keys;
  for (const StoredMeasurement& row : store.measurements(run)) {
    keys.push_back(row.measurement.key.text);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

/// Looks at the history of layers, hot, in the newest run's environment: one point a run.
std::vector<SeriesDetection> detect_in_store(const Store& store, std::vector<std::string> keys) {
  const RunRecord newest = store.find_run("@latest");
  if (keys.empty()) {
    keys = keys_of(store, newest.header.id);
  }
  std::vector<SeriesDetection> result;
  for (const std::string& key : keys) {
    std::vector<double> values;
    for (const SeriesPoint& point : store.series({.key = key,
                                    .cache = CacheMode::kNone,
                                    .environment = newest.header.environment.id()})) {
      values.push_back(point.corrected.median.count());
    }
    result.push_back(detect_in(key, values));
  }
  return result;
}

}  // namespace

void add_detect(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<DetectOptions>();
  CLI::App* const command =
      app.add_subcommand("detect", "change points over the history of each series");
  command->add_option("SERIES", options->keys, "layer keys; default: every key of the newest run");
  command
      ->add_option("--input",
                   options->input,
                   "a JSON file with series from elsewhere: {\"series\":[{\"id\",\"values\":[…]}]}")
      ->excludes("SERIES");
  command->callback([&context, options] {
    std::vector<SeriesDetection> found;
    if (options->input.empty()) {
      found = detect_in_store(*open_store(context.store_url), options->keys);
    } else {
      for (const NamedSeries& series : read_series(options->input)) {
        found.push_back(detect_in(series.id, series.values));
      }
    }
    write_detections(found, context.json ? Style::kJson : Style::kText, std::cout);
  });
}

}  // namespace plumb
