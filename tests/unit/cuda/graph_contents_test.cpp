// SPDX-License-Identifier: Apache-2.0
// How a captured graph is read, over nodes in the form of the driver's: capturing needs a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kInvalidHandle = 400;  // CUDA_ERROR_INVALID_HANDLE

struct WrittenFunction {
  const char* name = nullptr;
  int registers = 0;
  int static_shared = 0;
};

struct WrittenGraph;
struct WrittenNode {
  abi::DriverCalls::Graphs::NodeType type = abi::DriverCalls::Graphs::NodeType::kKernel;
  abi::DriverCalls::Graphs::KernelNode launch{};
  WrittenGraph* child = nullptr;
};

struct WrittenGraph {
  std::vector<WrittenNode*> nodes;
  std::vector<std::pair<WrittenNode*, WrittenNode*>> edges;
};

/// Answers as the driver's documentation says: a first call counts, a second one fills.
abi::DriverCalls::Graphs written_calls() {
  abi::DriverCalls::Graphs calls;
  calls.nodes = [](abi::Graph graph, abi::GraphNode* nodes, std::size_t* count) {
    const auto& list = static_cast<WrittenGraph*>(graph)->nodes;
    if (nodes != nullptr) {
      std::copy_n(list.begin(), std::min(*count, list.size()), nodes);
    }
    *count = list.size();
    return 0;
  };
  calls.edges = [](abi::Graph graph,
                   abi::GraphNode* from,
                   abi::GraphNode* to,
                   abi::GraphEdge*,
                   std::size_t* count) {
    const auto& list = static_cast<WrittenGraph*>(graph)->edges;
    for (std::size_t i = 0; from != nullptr && i < std::min(*count, list.size()); ++i) {
      from[i] = list[i].first;
      to[i] = list[i].second;
    }
    *count = list.size();
    return 0;
  };
  calls.node_type = [](abi::GraphNode node, abi::DriverCalls::Graphs::NodeType* type) {
    *type = static_cast<WrittenNode*>(node)->type;
    return 0;
  };
  calls.kernel_node = [](abi::GraphNode node, abi::DriverCalls::Graphs::KernelNode* launch) {
    *launch = static_cast<WrittenNode*>(node)->launch;
    return 0;
  };
  calls.child_graph = [](abi::GraphNode node, abi::Graph* graph) {
    *graph = static_cast<WrittenNode*>(node)->child;
    return *graph != nullptr ? 0 : kInvalidHandle;
  };
  calls.kernel_function = [](abi::Function* function, abi::Kernel kernel) {
    *function = kernel;
    return kernel != nullptr ? 0 : kInvalidHandle;
  };
  calls.function_name = [](const char** name, abi::Function function) {
    *name = static_cast<WrittenFunction*>(function)->name;
    return 0;
  };
  calls.function_attribute = [](int* value, int attribute, abi::Function function) {
    const auto* const written = static_cast<WrittenFunction*>(function);
    *value = attribute == abi::kFunctionRegisters ? written->registers : written->static_shared;
    return 0;
  };
  calls.update = [](abi::GraphExecutable, abi::Graph, abi::DriverCalls::Graphs::Update*) {
    return 0;
  };
  return calls;
}

WrittenNode kernel_node(WrittenFunction& function, unsigned blocks) {
  WrittenNode node;
  node.launch.function = &function;
  node.launch.grid = {blocks, 1, 1};
  node.launch.block = {128, 1, 1};
  node.launch.dynamic_shared = 1024;
  return node;
}

std::vector<std::string> names(const std::vector<GraphContents::Kernel>& kernels) {
  std::vector<std::string> list;
  for (const GraphContents::Kernel& kernel : kernels) {
    list.push_back(kernel.name);
  }
  return list;
}

class Graphs : public ::testing::Test {
 protected:
  WrittenFunction product_{"sm90_xmma_gemm_tensor16x8x16_kernel", 168, 512};
  WrittenFunction sum_{"splitKreduce_kernel", 32, 0};
  abi::DriverCalls::Graphs calls_ = written_calls();
};

TEST_F(Graphs, launches_stand_in_the_order_of_the_edges) {
  WrittenNode sum = kernel_node(sum_, 4);
  WrittenNode set;
  set.type = abi::DriverCalls::Graphs::NodeType::kSet;
  WrittenNode product = kernel_node(product_, 32);
  WrittenGraph graph{{&sum, &set, &product}, {{&product, &sum}, {&set, &product}}};
  const GraphContents contents = read_contents(calls_, &graph);
  EXPECT_THAT(names(contents.kernels), ElementsAre(product_.name, sum_.name));
  EXPECT_EQ(contents.kernels[0],
            (GraphContents::Kernel{product_.name, {32, 1, 1}, {128, 1, 1}, 168, 512, 1024}));
  const results::Attributes attributes = graph_attributes(contents);
  EXPECT_EQ(attributes.at("graph_nodes"), "kernel=2;set=1");
  EXPECT_EQ(attributes.at("kernel_launches"), "2");
  EXPECT_EQ(attributes.at("tensor_cores"), "yes");
  EXPECT_EQ(attributes.at("tensor_cores.source"), "kernel names");
  const auto kernels = nlohmann::json::parse(attributes.at("kernels"));
  EXPECT_EQ(kernels[0]["shared_bytes"], 1536);
  EXPECT_FALSE(kernels[0].contains("launches")) << "each launch has a place of its own";
}

/// Libraries launch by CUkernel, and may launch graphs of their own while they are captured.
TEST_F(Graphs, kernels_of_libraries_and_graphs_within_are_read) {
  WrittenNode inner = kernel_node(sum_, 1);
  inner.launch.function = nullptr;
  inner.launch.kernel = &sum_;
  WrittenGraph child{{&inner}, {}};
  WrittenNode within;
  within.type = abi::DriverCalls::Graphs::NodeType::kGraph;
  within.child = &child;
  WrittenNode first = kernel_node(product_, 1);
  WrittenGraph graph{{&first, &within}, {{&first, &within}}};
  EXPECT_THAT(names(read_contents(calls_, &graph).kernels), ElementsAre(product_.name, sum_.name));
}

TEST_F(Graphs, a_graph_within_itself_ends) {
  WrittenGraph graph;
  WrittenNode within;
  within.type = abi::DriverCalls::Graphs::NodeType::kGraph;
  within.child = &graph;
  graph.nodes = {&within};
  EXPECT_EQ(read_contents(calls_, &graph).nodes.at("graph"),
            static_cast<std::size_t>(kDeepestGraph) + 1);
}

TEST_F(Graphs, many_launches_are_summed_up) {
  WrittenNode product = kernel_node(product_, 32);
  WrittenNode sum = kernel_node(sum_, 4);
  std::vector<WrittenNode> copies(40, product);
  WrittenGraph graph{{&sum}, {}};
  for (WrittenNode& copy : copies) {
    graph.nodes.push_back(&copy);
  }
  const results::Attributes attributes = graph_attributes(read_contents(calls_, &graph));
  EXPECT_EQ(attributes.at("kernel_launches"), "41");
  EXPECT_FALSE(attributes.contains("kernels_omitted"));
  const auto kernels = nlohmann::json::parse(attributes.at("kernels"));
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0]["launches"], 1);
  EXPECT_EQ(kernels[1]["name"], product_.name);
  EXPECT_EQ(kernels[1]["launches"], 40);
}

TEST_F(Graphs, an_older_driver_and_a_refusal_are_said) {
  WrittenGraph graph;
  EXPECT_THAT(graph_attributes(read_contents(calls_, &graph)),
              ElementsAre(std::pair<const std::string, std::string>("graph_nodes", "")));
  const auto refusal = [&]() -> std::string {
    try {
      static_cast<void>(read_contents(calls_, &graph));
      return "";
    } catch (const DynamicLibrary::Refusal& words) {
      return words.what();
    }
  };
  calls_.node_type = [](abi::GraphNode, abi::DriverCalls::Graphs::NodeType*) {
    return kInvalidHandle;
  };
  WrittenNode node;
  graph.nodes = {&node};
  EXPECT_THAT(refusal(), HasSubstr("400"));
  calls_.function_name = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("cuFuncGetName"));
}

TEST(ExecutionOrder, is_the_order_made_but_for_edges) {
  const std::vector<std::pair<std::size_t, std::size_t>> edges{{3, 0}, {3, 1}};
  EXPECT_THAT(execution_order(4, edges), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(execution_order(0, {}), IsEmpty());
  const std::vector<std::pair<std::size_t, std::size_t>> round{{0, 1}, {1, 0}};
  EXPECT_THROW(static_cast<void>(execution_order(2, round)), DynamicLibrary::Refusal);
  const std::vector<std::pair<std::size_t, std::size_t>> outside{{0, 2}};
  EXPECT_THROW(static_cast<void>(execution_order(2, outside)), DynamicLibrary::Refusal);
}

TEST(DeviceGraph, refused_updates_have_a_reason) {
  EXPECT_EQ(update_refusal(abi::DriverCalls::Graphs::UpdateResult::kUpdated), "");
  EXPECT_THAT(update_refusal(abi::DriverCalls::Graphs::UpdateResult::kTopologyChanged),
              HasSubstr("nodes"));
  EXPECT_THAT(update_refusal(static_cast<abi::DriverCalls::Graphs::UpdateResult>(99)),
              HasSubstr("99"));
}

TEST(KernelLaunch, names_its_kernel_by_its_call) {
  KernelLaunch launch;
  launch.call = "map_one<relu_of, float, float>";
  EXPECT_EQ(kernel_name(launch), "plumb_map_one_relu_of_float_float");
  launch.call.assign(1000, 'k');
  EXPECT_LE(kernel_name(launch).size(), 128U);
}

}  // namespace
}  // namespace plumb::cuda
