// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/requested_suite.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/cli/load_options.hpp"
#include "harness/cli/model_source.hpp"
#include "harness/session/user_paths.hpp"

namespace plumb {
namespace {

/// Makes a suite of models alone: names of the zoo, or paths relative to the working folder.
SuiteSpec suite_of(const RunOptions& options) {
  SuiteSpec spec;
  spec.file = std::filesystem::current_path() / "models.toml";
  spec.name = "models";
  if (options.rebatch || options.batch) {
    spec.defaults.batch = {options.rebatch ? *options.rebatch : *options.batch};
  }
  for (const std::string& model : options.models) {
    SuiteSpec::ModelEntry& entry = spec.models.emplace_back();
    if (std::filesystem::path(model).extension() == ".onnx") {
      entry.path = model;
      entry.rebatch = options.rebatch.has_value();
    } else {
      entry.name = model;
    }
  }
  return spec;
}

}  // namespace

ResolvedSuite requested_suite(const RunOptions& options) {
  if (options.suite.empty() && options.models.empty()) {
    throw Error(Error::Kind::kUser,
                "say what to measure: a suite, such as suites/quick.toml, or --model and a "
                "built-in name or an .onnx file");
  }
  if (!options.suite.empty() && (options.batch || options.rebatch)) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--{}' is for models without a suite: set 'batch' in suite '{}'",
                            options.batch ? "batch" : "rebatch",
                            options.suite));
  }
  ResolvedSuite suite = resolve_suite(
      options.suite.empty() ? suite_of(options) : read_suite(find_suite(options.suite)));
  if (!options.reuse.empty()) {
    suite.reuse = parse_reuse(options.reuse);
  }
  if (!options.budget.empty()) {
    suite.budget = parse_duration(options.budget);
  }
  if (!options.cache.empty()) {
    const std::optional<CacheMode> cache = parse_cache_mode(options.cache);
    if (!cache) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'--cache {}' is none of none, weights, all", options.cache));
    }
    suite.caches = {*cache};
  }
  if (!options.suite.empty() && !options.models.empty()) {
    keep_models(suite, options.models);
  }
  apply(options.loads, suite);
  return suite;
}

}  // namespace plumb
