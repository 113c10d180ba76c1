// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/session_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/utf8_text.hpp"

namespace plumb::onnxruntime {
namespace {

constexpr std::string_view kKernelEnd = "_kernel_time";
constexpr const char* kCpuProvider = "CPUExecutionProvider";
constexpr std::size_t kMaxNames = 20;
constexpr std::size_t kMaxName = 100;  // bytes

/// Node of an optimised model that was executed.
struct ExecutedNode {
  std::string name;
  std::string operation;
  std::string provider;
};

std::string short_name(const std::string& name) {
  return in_utf8(name.substr(0, kMaxName));
}

/// Lists the executed nodes in the order of their first execution. Index and name tell them apart.
std::vector<ExecutedNode> list_nodes(const nlohmann::json& events) {
  std::vector<ExecutedNode> nodes;
  std::set<std::string> keys;
  for (const nlohmann::json& event : events.is_array() ? events : nlohmann::json::array()) {
    if (!event.is_object() || event.value("cat", "") != "Node" || !event.contains("args") ||
        !event["args"].is_object()) {
      continue;
    }
    std::string name = event.value("name", "");
    if (!name.ends_with(kKernelEnd)) {
      continue;
    }
    name.resize(name.size() - kKernelEnd.size());
    const nlohmann::json& arguments = event["args"];
    if (keys.insert(arguments.value("node_index", "") + " " + name).second) {
      nodes.push_back({short_name(name),
                       short_name(arguments.value("op_name", "?")),
                       arguments.value("provider", "?")});
    }
  }
  return nodes;
}

/// Writes names with their numbers: "Conv:53,Relu:49", the most frequent first.
std::string counted(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> order(counts.begin(), counts.end());
  std::stable_sort(
      order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : order) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, count);
  }
  return text;
}

/// Names the nodes on the CPU, with their operators. The first ones stand for very many.
std::string names_on_cpu(const std::vector<ExecutedNode>& nodes) {
  std::string text;
  std::size_t count = 0;
  for (const ExecutedNode& node : nodes) {
    if (node.provider == kCpuProvider && ++count <= kMaxNames) {
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", node.name, node.operation);
    }
  }
  return count > kMaxNames ? text + fmt::format(", and {} more", count - kMaxNames) : text;
}

}  // namespace

results::Attributes read_session_profile(std::istream& profile, bool elsewhere) {
  const nlohmann::json events = nlohmann::json::parse(profile, nullptr, false);
  const std::vector<ExecutedNode> nodes = list_nodes(events);
  if (nodes.empty()) {
    return {};
  }
  std::map<std::string, int> operators;
  std::map<std::string, int> providers;
  for (const ExecutedNode& node : nodes) {
    ++operators[node.operation];
    ++providers[node.provider];
  }
  results::Attributes attributes{{"nodes", std::to_string(nodes.size())},
                                 {"operators", counted(operators)},
                                 {"providers", counted(providers)}};
  if (elsewhere && providers.contains(kCpuProvider)) {
    attributes[results::kCpuNodes] = names_on_cpu(nodes);
  }
  return attributes;
}

}  // namespace plumb::onnxruntime
