// SPDX-License-Identifier: Apache-2.0
// Entry points of libcuda.so.1: graphs.
#include <algorithm>

#include "tests/support/cuda_driver/export.hpp"
#include "tests/support/cuda_driver/kernel_module.hpp"

namespace plumb::stand_in {
namespace {

Graph* graph_of(Machine& device, void* handle) {
  const auto at = device.graphs.find(handle);
  if (at == device.graphs.end()) {
    device.found_dead_handle("graph", handle);
    return nullptr;
  }
  return at->second.get();
}

Executable* executable_of(Machine& device, void* handle) {
  const auto at = device.executables.find(handle);
  if (at == device.executables.end()) {
    device.found_dead_handle("executable graph", handle);
    return nullptr;
  }
  return at->second.get();
}

abi::DriverCalls::Graphs::NodeType type_of(const Operation& operation) {
  if (operation.event != nullptr) {
    return static_cast<abi::DriverCalls::Graphs::NodeType>(7);  // CU_GRAPH_NODE_TYPE_EVENT_RECORD
  }
  switch (operation.kind) {
    case WorkKind::kKernel:
      return abi::DriverCalls::Graphs::NodeType::kKernel;
    case WorkKind::kCopy:
      return abi::DriverCalls::Graphs::NodeType::kCopy;
    case WorkKind::kSet:
      return abi::DriverCalls::Graphs::NodeType::kSet;
    default:
      return abi::DriverCalls::Graphs::NodeType::kEmpty;
  }
}

/// Compares two graphs as cuGraphExecUpdate() says. Nodes are paired by their order.
abi::DriverCalls::Graphs::UpdateResult compared(const Program& before, const Program& now) {
  if (before.nodes.size() != now.nodes.size()) {
    return abi::DriverCalls::Graphs::UpdateResult::kTopologyChanged;
  }
  for (std::size_t i = 0; i < now.nodes.size(); ++i) {
    if (before.nodes[i].before != now.nodes[i].before) {
      return abi::DriverCalls::Graphs::UpdateResult::kTopologyChanged;
    }
    if (before.nodes[i].operation.kind != now.nodes[i].operation.kind) {
      return abi::DriverCalls::Graphs::UpdateResult::kNodeTypeChanged;
    }
  }
  return abi::DriverCalls::Graphs::UpdateResult::kUpdated;
}

}  // namespace
}  // namespace plumb::stand_in

using namespace plumb::stand_in;  // NOLINT: the entry points have no namespace

PLUMB_EXPORT int cuGraphInstantiateWithFlags(void** executable,
                                             void* graph,
                                             unsigned long long flags) {
  PLUMB_CALL("cuGraphInstantiateWithFlags");
  const Graph* const source = graph_of(device, graph);
  if (source == nullptr || flags != 0) {
    return kInvalidValue;
  }
  auto made = std::make_unique<Executable>();
  made->program = Machine::program_of(*source);
  *executable = made.get();
  device.executables.emplace(*executable, std::move(made));
  return kSuccess;
}

PLUMB_EXPORT int cuGraphUpload(void* executable, void* stream) {
  PLUMB_CALL("cuGraphUpload");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr || executable_of(device, executable) == nullptr) {
    return kInvalidValue;
  }
  if (device.capturing(*target)) {
    Machine::invalidate(*target->capture);
    return kCaptureUnsupported;
  }
  return device.enqueue(*target, {WorkKind::kEvent, "an upload of a graph", nullptr, nullptr});
}

PLUMB_EXPORT int cuGraphLaunch(void* executable, void* stream) {
  PLUMB_CALL("cuGraphLaunch");
  Stream* const target = device.stream_of(stream);
  Executable* const source = executable_of(device, executable);
  return target == nullptr || source == nullptr ? kInvalidValue : device.launch(*source, *target);
}

PLUMB_EXPORT int cuGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  PLUMB_CALL("cuGraphGetNodes");
  const Graph* const source = graph_of(device, graph);
  if (source == nullptr) {
    return kInvalidValue;
  }
  for (std::size_t i = 0; nodes != nullptr && i < *count; ++i) {
    nodes[i] = i < source->nodes.size() ? source->nodes[i].get() : nullptr;
  }
  *count = nodes == nullptr ? source->nodes.size() : std::min(*count, source->nodes.size());
  return kSuccess;
}

PLUMB_EXPORT int cuGraphGetEdges_v2(
    void* graph, void** from, void** to, abi::GraphEdge* data, std::size_t* count) {
  PLUMB_CALL("cuGraphGetEdges_v2");
  const Graph* const source = graph_of(device, graph);
  if (source == nullptr) {
    return kInvalidValue;
  }
  std::size_t edge = 0;
  for (const auto& node : source->nodes) {
    for (const std::size_t before : node->before) {
      if (from != nullptr && to != nullptr && edge < *count) {
        from[edge] = source->nodes[before].get();
        to[edge] = node.get();
        if (data != nullptr) {
          data[edge] = {};
        }
      }
      edge += 1;
    }
  }
  *count = from == nullptr ? edge : std::min(*count, edge);
  return kSuccess;
}

PLUMB_EXPORT int cuGraphNodeGetType(void* node, abi::DriverCalls::Graphs::NodeType* type) {
  PLUMB_CALL("cuGraphNodeGetType");
  static_cast<void>(device);
  *type = type_of(static_cast<const Node*>(node)->operation);
  return kSuccess;
}

PLUMB_EXPORT int cuGraphKernelNodeGetParams_v2(void* node,
                                               abi::DriverCalls::Graphs::KernelNode* params) {
  PLUMB_CALL("cuGraphKernelNodeGetParams_v2");
  const Operation& operation = static_cast<const Node*>(node)->operation;
  if (operation.launch == nullptr) {
    return kInvalidValue;
  }
  *params = {};
  params->function = const_cast<KernelFunction*>(operation.launch->function);
  params->grid = operation.launch->grid;
  params->block = operation.launch->block;
  params->dynamic_shared = operation.launch->dynamic_shared;
  params->parameters = operation.launch->pointers.data();
  params->context = &device;
  return kSuccess;
}

PLUMB_EXPORT int cuGraphChildGraphNodeGetGraph(void* /*node*/, void** graph) {
  *graph = nullptr;
  return kInvalidValue;  // no node of the stand-in holds a graph
}

PLUMB_EXPORT int cuGraphExecUpdate_v2(void* executable,
                                      void* graph,
                                      abi::DriverCalls::Graphs::Update* update) {
  PLUMB_CALL("cuGraphExecUpdate_v2");
  Executable* const target = executable_of(device, executable);
  const Graph* const source = graph_of(device, graph);
  *update = {};
  if (target == nullptr || source == nullptr) {
    update->result = static_cast<int>(abi::DriverCalls::Graphs::UpdateResult::kError);
    return kInvalidValue;
  }
  const std::shared_ptr<const Program> program = Machine::program_of(*source);
  const abi::DriverCalls::Graphs::UpdateResult result = compared(*target->program, *program);
  update->result = static_cast<int>(result);
  if (result != abi::DriverCalls::Graphs::UpdateResult::kUpdated) {
    return kGraphUpdateFailed;
  }
  target->program = program;
  return kSuccess;
}

PLUMB_EXPORT int cuGraphDestroy(void* graph) {
  PLUMB_CALL("cuGraphDestroy");
  if (graph_of(device, graph) == nullptr) {
    return kInvalidValue;
  }
  const auto at = device.graphs.find(graph);
  at->second->nodes.clear();
  device.destroyed.insert(graph);
  device.old_graphs.push_back(std::move(at->second));
  device.graphs.erase(at);
  return kSuccess;
}

PLUMB_EXPORT int cuGraphExecDestroy(void* executable) {
  PLUMB_CALL("cuGraphExecDestroy");
  if (executable_of(device, executable) == nullptr) {
    return kInvalidValue;
  }
  const auto at = device.executables.find(executable);
  at->second->program = nullptr;  // "freed asynchronously on completion": a launch keeps it
  device.destroyed.insert(executable);
  device.old_executables.push_back(std::move(at->second));
  device.executables.erase(at);
  return kSuccess;
}
