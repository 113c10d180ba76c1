// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/session_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb::onnxruntime {
namespace {

constexpr std::string_view kKernelEnd = "_kernel_time";
constexpr const char* kCpuProvider = "CPUExecutionProvider";
constexpr std::size_t kMaxNames = 20;

/// Node of an optimised model that was executed.
struct ExecutedNode {
  std::string name;
  std::string operation;
  std::string provider;
};

/// Lists the executed nodes by index and name, so that each is there once.
std::map<std::string, ExecutedNode> list_nodes(const nlohmann::json& events) {
  std::map<std::string, ExecutedNode> nodes;
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
    nodes.emplace(
        arguments.value("node_index", "") + " " + name,
        ExecutedNode{name, arguments.value("op_name", "?"), arguments.value("provider", "?")});
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
std::string names_on_cpu(const std::map<std::string, ExecutedNode>& nodes) {
  std::string text;
  std::size_t count = 0;
  for (const auto& [key, node] : nodes) {
    if (node.provider == kCpuProvider && ++count <= kMaxNames) {
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", node.name, node.operation);
    }
  }
  return count > kMaxNames ? text + fmt::format(", and {} more", count - kMaxNames) : text;
}

}  // namespace

results::Attributes read_session_profile(std::istream& profile, bool elsewhere) {
  const nlohmann::json events = nlohmann::json::parse(profile, nullptr, false);
  const std::map<std::string, ExecutedNode> nodes = list_nodes(events);
  if (nodes.empty()) {
    return {};
  }
  std::map<std::string, int> operators;
  std::map<std::string, int> providers;
  for (const auto& [key, node] : nodes) {
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
