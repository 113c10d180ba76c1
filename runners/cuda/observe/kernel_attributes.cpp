// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/kernel_attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <queue>
#include <regex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runners/cuda/driver/cublas_abi.hpp"
#include "runners/cuda/driver/driver.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kLongestName = 1024;  // more would only cost time: what matters stands before

// These are tried first: names with "_ffma_" have a tile like those of tensor cores, too.
constexpr const char* kOrdinary =
    "^plumb_|_ffma(?:_|$)|simt|depthwise_(?:convolution|fprop|dgrad|wgrad)|"
    "(?:volta|turing|ampere|maxwell|pascal)_(?:[a-z]+\\d+(?:x4)?_)?[sdhczi]g?c?(?:gemm|cudnn)_";
constexpr const char* kTensor =
    "(?:sp)?tensor\\d+x\\d+x\\d+|(?:sp|bs)?tensorop|_warpgroupsize\\d|"
    "(?:^|[^0-9])(?:884|1688|8816|8832|16816|16832|16864|168128|1684)[a-z_]|"
    "[hidq]mma|wgmma|gmma|utc[a-z]*mma|tcgen05|wmma|nvjet|(?:^|[^a-z0-9])f?mha_|flash_(?:fwd|bwd)";

bool occurs(const std::regex& expression, std::string_view name) {
  const std::string_view head = name.substr(0, kLongestName);
  return std::regex_search(head.begin(), head.end(), expression);
}

const char* word(const std::optional<bool>& used) {
  return !used ? "unknown" : *used ? "yes" : "no";
}

/// Returns whether any of the kernels uses tensor cores, by their names. It is false only if every
/// name says so. Absent: the names do not decide.
std::optional<bool> by_names(const std::vector<std::string>& kernels) {
  bool all_known = !kernels.empty();
  for (const std::string& kernel : kernels) {
    const std::optional<bool> one = tensor_cores_by_name(kernel);
    if (one && *one) {
      return true;
    }
    all_known = all_known && one;
  }
  return all_known ? std::optional(false) : std::nullopt;
}

struct Decision {
  std::optional<bool> used;
  const char* source = "nothing says it";
};

Decision decide(const TensorCoreEvidence& evidence) {
  constexpr std::uint64_t kKinds = abi::kLtTensorOperations | abi::kLtFma;
  if (evidence.product_flags && (*evidence.product_flags & kKinds) != 0) {
    return {(*evidence.product_flags & abi::kLtTensorOperations) != 0, "cuBLASLt's flags"};
  }
  if (evidence.engine_notes) {
    const auto& notes = *evidence.engine_notes;
    return {std::find(notes.begin(), notes.end(), "TENSOR_CORE") != notes.end(), "cuDNN's notes"};
  }
  if (const std::optional<bool> named = by_names(evidence.kernels)) {
    return {named, "kernel names"};
  }
  return {};
}

bool is_decided(const results::Attributes& attributes) {
  const auto decision = attributes.find("tensor_cores");
  return decision != attributes.end() && decision->second != "unknown";
}

}  // namespace

results::Attributes tensor_core_attributes(const TensorCoreEvidence& evidence) {
  const Decision decision = decide(evidence);
  results::Attributes result{{"tensor_cores", word(decision.used)},
                             {"tensor_cores.source", decision.source}};
  if (!evidence.kernels.empty()) {
    result["tensor_cores.names"] = word(by_names(evidence.kernels));
    result["tensor_cores.benanza"] = word(
        std::any_of(evidence.kernels.begin(), evidence.kernels.end(), [](const std::string& name) {
          return benanza_tensor_cores(name);
        }));
  }
  return result;
}

void keep_decision(results::Attributes& seen, const results::Attributes& known) {
  if (is_decided(known)) {
    seen.erase("tensor_cores");
    seen.erase("tensor_cores.source");
  }
}

void keep_declaration(results::Attributes& counted, const results::Attributes& known) {
  if (is_decided(counted) && is_decided(known)) {
    counted["tensor_cores.declared"] =
        fmt::format("{} by {}", known.at("tensor_cores"), known.at("tensor_cores.source"));
  }
}

results::Attributes builtin_kernel_attributes() {
  return {{"tensor_cores", "no"}, {"tensor_cores.source", "kernels of our own"}};
}

std::optional<bool> tensor_cores_by_name(std::string_view kernel) {
  static const std::regex ordinary(kOrdinary, std::regex::ECMAScript | std::regex::icase);
  static const std::regex tensor(kTensor, std::regex::ECMAScript | std::regex::icase);
  if (occurs(ordinary, kernel)) {
    return false;
  }
  return occurs(tensor, kernel) ? std::optional(true) : std::nullopt;
}

bool benanza_tensor_cores(std::string_view kernel) {
  static const std::regex paper("_[ish]\\d+");
  return occurs(paper, kernel);
}

std::string flags_text(std::uint64_t flags) {
  constexpr auto kNames = std::to_array<std::pair<std::uint64_t, std::string_view>>({
      {abi::kLtFma, "FMA"},
      {abi::kLtHmma, "HMMA"},
      {abi::kLtImma, "IMMA"},
      {abi::kLtDmma, "DMMA"},
      {abi::kLtAccumulatorF16, "ACCUMULATOR_16F"},
      {abi::kLtAccumulatorF32, "ACCUMULATOR_32F"},
      {abi::kLtAccumulatorF64, "ACCUMULATOR_64F"},
      {abi::kLtAccumulatorS32, "ACCUMULATOR_32I"},
      {abi::kLtInputF16, "INPUT_16F"},
      {abi::kLtInputBf16, "INPUT_16BF"},
      {abi::kLtInputTf32, "INPUT_TF32"},
      {abi::kLtInputF32, "INPUT_32F"},
      {abi::kLtInputF64, "INPUT_64F"},
      {abi::kLtInputS8, "INPUT_8I"},
      {abi::kLtInputF8E4M3, "INPUT_8F_E4M3"},
      {abi::kLtInputF8E5M2, "INPUT_8F_E5M2"},
      {abi::kLtGaussian, "GAUSSIAN"},
  });
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((flags & bit) != 0) {
      text += fmt::format("{}{}", text.empty() ? "" : ",", name);
      flags &= ~bit;
    }
  }
  return flags == 0 ? text : fmt::format("{}{}{:#x}", text, text.empty() ? "" : ",", flags);
}

namespace {

constexpr std::size_t kNameKept = 512;  // bytes, in the JSON list

/// Kernel launch, and the number of equal launches that its entry in the list stands for.
struct Counted {
  const GraphContents::Kernel* shape = nullptr;
  std::size_t launches = 0;
};

/// Lists the launches in order. If they are more than kMaxKernels, each different one stands there
/// once.
std::vector<Counted> listed(std::span<const GraphContents::Kernel> launches) {
  std::vector<Counted> list;
  for (const GraphContents::Kernel& launch : launches) {
    auto found = list.end();
    if (launches.size() > kMaxKernels) {
      found = std::find_if(
          list.begin(), list.end(), [&](const Counted& one) { return *one.shape == launch; });
    }
    if (found == list.end()) {
      list.push_back({&launch, 1});
    } else {
      found->launches += 1;
    }
  }
  return list;
}

}  // namespace

results::Attributes kernel_attributes(std::span<const GraphContents::Kernel> launches) {
  if (launches.empty()) {
    return {};
  }
  std::set<std::string> names;  // each once: judging a name takes time
  for (const GraphContents::Kernel& launch : launches) {
    names.insert(launch.name);
  }
  TensorCoreEvidence evidence;
  evidence.kernels.assign(names.begin(), names.end());
  results::Attributes result = tensor_core_attributes(evidence);
  const std::vector<Counted> list = listed(launches);
  nlohmann::json kernels = nlohmann::json::array();
  for (const Counted& one : std::span(list).first(std::min(list.size(), kMaxKernels))) {
    nlohmann::json kernel{{"name", one.shape->name.substr(0, kNameKept)},
                          {"grid", one.shape->grid},
                          {"block", one.shape->block},
                          {"registers", one.shape->registers},
                          {"shared_bytes", one.shape->static_shared + one.shape->dynamic_shared}};
    if (launches.size() > kMaxKernels) {
      kernel["launches"] = one.launches;
    }
    kernels.push_back(std::move(kernel));
  }
  result["kernels"] = kernels.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  result["kernel_launches"] = fmt::format("{}", launches.size());
  if (list.size() > kMaxKernels) {
    result["kernels_omitted"] = fmt::format("{}", list.size() - kMaxKernels);
  }
  return result;
}

namespace {

void require(int status, const char* what) {
  if (status != abi::kDriverSuccess) {
    throw DynamicLibrary::Refusal(fmt::format("{}: the driver's status is {}", what, status));
  }
}

/// Reader of one graph, and of those within it.
class Reader {
 public:
  explicit Reader(const abi::DriverCalls::Graphs& calls) : calls_(calls) {}

  void read(abi::Graph graph, int depth) {
    const std::vector<abi::GraphNode> nodes = nodes_of(graph);
    for (const std::size_t index : execution_order(nodes.size(), edges_of(graph, nodes))) {
      read_node(nodes[index], depth);
    }
  }

  GraphContents contents;

 private:
  std::vector<abi::GraphNode> nodes_of(abi::Graph graph) {
    std::size_t count = 0;
    require(calls_.nodes(graph, nullptr, &count), "counting a graph's nodes");
    read_ += count;
    if (read_ > kMaxNodes) {
      throw DynamicLibrary::Refusal(fmt::format("the graph has more than {} nodes", kMaxNodes));
    }
    std::vector<abi::GraphNode> nodes(count);
    if (count > 0) {
      require(calls_.nodes(graph, nodes.data(), &count), "reading a graph's nodes");
      nodes.resize(std::min(count, nodes.size()));
    }
    return nodes;
  }

  std::vector<std::pair<std::size_t, std::size_t>> edges_of(
      abi::Graph graph, const std::vector<abi::GraphNode>& nodes) {
    std::unordered_map<abi::GraphNode, std::size_t> places;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      places.emplace(nodes[i], i);
    }
    std::size_t count = 0;
    require(calls_.edges(graph, nullptr, nullptr, nullptr, &count), "counting a graph's edges");
    std::vector<abi::GraphNode> from(count);
    std::vector<abi::GraphNode> to(count);
    std::vector<abi::GraphEdge> data(count);
    if (count > 0) {
      require(calls_.edges(graph, from.data(), to.data(), data.data(), &count),
              "reading a graph's edges");
    }
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (std::size_t i = 0; i < std::min(count, from.size()); ++i) {
      const auto begin = places.find(from[i]);
      const auto end = places.find(to[i]);
      if (begin == places.end() || end == places.end()) {
        throw DynamicLibrary::Refusal("an edge of the graph belongs to an unknown node");
      }
      edges.emplace_back(begin->second, end->second);
    }
    return edges;
  }

  void read_node(abi::GraphNode node, int depth) {
    abi::DriverCalls::Graphs::NodeType type{};
    require(calls_.node_type(node, &type), "a node's type");
    contents.nodes[name_of(type)] += 1;
    if (type == abi::DriverCalls::Graphs::NodeType::kKernel) {
      contents.kernels.push_back(kernel_of(node));
    } else if (type == abi::DriverCalls::Graphs::NodeType::kGraph && depth < kDeepestGraph) {
      abi::Graph child = nullptr;
      require(calls_.child_graph(node, &child), "a graph within the graph");
      read(child, depth + 1);
    }
  }

  GraphContents::Kernel kernel_of(abi::GraphNode node) const {
    abi::DriverCalls::Graphs::KernelNode launch;
    require(calls_.kernel_node(node, &launch), "a kernel's launch");
    GraphContents::Kernel shape;
    for (std::size_t axis = 0; axis < shape.grid.size(); ++axis) {
      shape.grid[axis] = static_cast<std::int32_t>(launch.grid[axis]);
      shape.block[axis] = static_cast<std::int32_t>(launch.block[axis]);
    }
    shape.dynamic_shared = launch.dynamic_shared;
    abi::Function function = launch.function;
    if (function == nullptr) {
      require(calls_.kernel_function(&function, launch.kernel), "a kernel's function");
    }
    const char* name = nullptr;
    require(calls_.function_name(&name, function), "a kernel's name");
    if (name != nullptr) {
      shape.name.assign(name, ::strnlen(name, kLongestKernelName));
    }
    int number = 0;
    require(calls_.function_attribute(&number, abi::kFunctionRegisters, function), "its registers");
    shape.registers = static_cast<std::uint32_t>(number);
    require(calls_.function_attribute(&number, abi::kFunctionStaticShared, function),
            "its shared memory");
    shape.static_shared = number;
    return shape;
  }

  static std::string name_of(abi::DriverCalls::Graphs::NodeType type) {
    switch (type) {
      case abi::DriverCalls::Graphs::NodeType::kKernel:
        return "kernel";
      case abi::DriverCalls::Graphs::NodeType::kCopy:
        return "copy";
      case abi::DriverCalls::Graphs::NodeType::kSet:
        return "set";
      case abi::DriverCalls::Graphs::NodeType::kHost:
        return "host";
      case abi::DriverCalls::Graphs::NodeType::kGraph:
        return "graph";
      case abi::DriverCalls::Graphs::NodeType::kEmpty:
        return "empty";
    }
    return fmt::format("type{}", static_cast<int>(type));
  }

  const abi::DriverCalls::Graphs& calls_;
  std::size_t read_ = 0;
};

}  // namespace

GraphContents read_contents(const abi::DriverCalls::Graphs& calls, abi::Graph graph) {
  abi::for_each_graph_call(calls, [&](const auto& call, const char* name) {
    if (call == nullptr) {
      throw DynamicLibrary::Refusal(
          fmt::format("the driver is too old to read a graph: it has no {}", name));
    }
  });
  Reader reader(calls);
  reader.read(graph, 0);
  return std::move(reader.contents);
}

results::Attributes graph_attributes(const GraphContents& contents) {
  results::Attributes result = kernel_attributes(contents.kernels);
  std::string nodes;
  for (const auto& [type, count] : contents.nodes) {
    nodes += fmt::format("{}{}={}", nodes.empty() ? "" : ";", type, count);
  }
  result["graph_nodes"] = nodes;
  return result;
}

std::vector<std::size_t> execution_order(
    std::size_t count, std::span<const std::pair<std::size_t, std::size_t>> edges) {
  std::vector<std::vector<std::size_t>> behind(count);
  std::vector<std::size_t> before(count, 0);
  for (const auto& [from, to] : edges) {
    if (from >= count || to >= count) {
      throw DynamicLibrary::Refusal("an edge of the graph belongs to an unknown node");
    }
    behind[from].push_back(to);
    before[to] += 1;
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (before[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t later : behind[next]) {
      if (--before[later] == 0) {
        ready.push(later);
      }
    }
  }
  if (order.size() != count) {
    throw DynamicLibrary::Refusal("the graph's edges form a cycle");
  }
  return order;
}

}  // namespace plumb::cuda
