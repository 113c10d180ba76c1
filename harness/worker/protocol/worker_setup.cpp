// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {
namespace {

bool is_metric_name(const std::string& name) {
  return results::is_attribute_name(name) && name.find('-') == std::string::npos &&
         name.find('.') != std::string::npos;
}

}  // namespace

std::map<std::string, std::string> thread_variables(int threads) {
  std::map<std::string, std::string> variables{{"OMP_NUM_THREADS", std::to_string(threads)},
                                               {"OMP_DYNAMIC", "false"}};
  if (threads > 1) {
    // One thread per core. A single thread is left to the scheduler, which knows the idle core.
    variables["OMP_PROC_BIND"] = "close";
    variables["OMP_PLACES"] = "cores";
  }
  return variables;
}

std::vector<std::string> parse_metric_names(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream parts(text);
  for (std::string name; std::getline(parts, name, ',');) {
    if (!is_metric_name(name)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is not the name of a metric, such as 'sm__inst_executed.sum': "
                              "use at most {} letters, digits, '_' and '.'",
                              name.substr(0, results::kMaxAttributeName),
                              results::kMaxAttributeName));
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw Error(Error::Kind::kUser, fmt::format("the metric '{}' is requested twice", name));
    }
    if (names.size() == kMaxMetrics) {
      throw Error(Error::Kind::kUser, fmt::format("more than {} metrics", kMaxMetrics));
    }
    names.push_back(name);
  }
  if (names.empty()) {
    throw Error(Error::Kind::kUser, "no metric is named");
  }
  return names;
}

std::vector<std::filesystem::path> split_paths(std::string_view text) {
  std::vector<std::filesystem::path> paths;
  while (!text.empty()) {
    const std::size_t end = text.find(':');
    const std::string_view entry = text.substr(0, end);
    if (!entry.empty()) {
      paths.emplace_back(entry);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return paths;
}

std::string join_paths(const std::vector<std::filesystem::path>& paths) {
  std::string text;
  for (const std::filesystem::path& path : paths) {
    if (path.native().find(':') != std::string::npos) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("the path '{}' has a ':' in it, which separates paths; rename the folder",
                      path.native()));
    }
    text += text.empty() ? "" : ":";
    text += path.native();
  }
  return text;
}

}  // namespace plumb::worker
