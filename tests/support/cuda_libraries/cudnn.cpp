// SPDX-License-Identifier: Apache-2.0
// Test double of cuDNN: libcudnn.so.9. Of each graph it offers two engines, of which the first
// wants a workspace. Both compute in double, by the arithmetic that graph_form_test uses.
#include <cstring>
#include <exception>
#include <set>

#include "tests/support/cuda_libraries/cudnn_handle.hpp"
#include "tests/support/cuda_libraries/cudnn_plan.hpp"

#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))

namespace plumb::stand_in {
namespace {

namespace abi = cuda::abi;
using Attribute = abi::CudnnCalls::Attribute;
using DescriptorType = abi::CudnnCalls::DescriptorType;
using ValueType = abi::CudnnCalls::ValueType;

constexpr std::int64_t kEngines = 2;
constexpr std::size_t kWorkspace = 4096;
constexpr int kSupportsGraphs = 3;  // CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API

/// Descriptors that live, so that a destroyed one is refused. A descriptor that was set into
/// another one is held by it.
std::map<void*, std::shared_ptr<DnnDescriptor>>& living() {
  static auto& map = *new std::map<void*, std::shared_ptr<DnnDescriptor>>;
  return map;
}

std::shared_ptr<DnnDescriptor> find(void* handle) {
  const auto at = living().find(handle);
  return at == living().end() ? nullptr : at->second;
}

std::size_t size_of(ValueType type) {
  switch (type) {
    case ValueType::kInt64:
    case ValueType::kDouble:
    case ValueType::kHandle:
    case ValueType::kVoidPointer:
    case ValueType::kDescriptor:
      return 8;
    case ValueType::kBoolean:
    case ValueType::kChar:
      return 1;
    default:
      return 4;
  }
}

std::int64_t workspace_of(std::int64_t engine) {
  return engine == 0 ? static_cast<std::int64_t>(kWorkspace) : 0;
}

/// Checks a descriptor and makes what follows from it.
int finish(DnnDescriptor& one) {
  switch (one.type) {
    case DescriptorType::kDeviceProperties:
      return kDnnBadParam;  // the stand-in describes no device
    case DescriptorType::kTensor: {
      const auto dimensions = one.numbers<std::int64_t>(Attribute::kTensorDimensions);
      const auto strides = one.numbers<std::int64_t>(Attribute::kTensorStrides);
      return dimensions.size() == strides.size() && one.has(Attribute::kTensorId) ? 0
                                                                                  : kDnnBadParam;
    }
    case DescriptorType::kOperationGraph:
      one.plan = read_plan(one);
      return 0;
    case DescriptorType::kEngineHeuristic:
      one.plan = one.part(Attribute::kHeuristicOperationGraph).plan;
      return one.plan != nullptr ? 0 : kDnnBadParam;
    case DescriptorType::kEngine:
      one.plan = one.part(Attribute::kEngineOperationGraph).plan;
      one.engine = one.number<std::int64_t>(Attribute::kEngineIndex);
      return one.plan != nullptr && one.engine < kEngines ? 0 : kDnnNotSupported;
    case DescriptorType::kEngineConfiguration:
      one.plan = one.part(Attribute::kConfigurationEngine).plan;
      one.engine = one.part(Attribute::kConfigurationEngine).engine;
      return one.plan != nullptr ? 0 : kDnnBadParam;
    case DescriptorType::kExecutionPlan:
      if (!one.has(Attribute::kPlanHandle)) {
        return kDnnBadParam;
      }
      one.plan = one.part(Attribute::kPlanConfiguration).plan;
      one.engine = one.part(Attribute::kPlanConfiguration).engine;
      return one.plan != nullptr ? 0 : kDnnBadParam;
    default:
      return 0;
  }
}

template <typename Number>
int give(std::int64_t room, std::int64_t* count, void* to, const std::vector<Number>& list) {
  *count = static_cast<std::int64_t>(list.size());
  if (to != nullptr && room >= *count) {
    std::copy(list.begin(), list.end(), static_cast<Number*>(to));
  }
  return 0;
}

/// Fills descriptors that the caller has made.
int give_descriptors(std::int64_t room,
                     std::int64_t* count,
                     void* to,
                     const std::vector<DnnDescriptor>& list) {
  *count = static_cast<std::int64_t>(list.size());
  for (std::int64_t i = 0; to != nullptr && i < std::min(room, *count); ++i) {
    const auto target = find(static_cast<void**>(to)[i]);
    const DnnDescriptor& from = list[static_cast<std::size_t>(i)];
    if (target == nullptr || target->type != from.type) {
      return kDnnBadParam;
    }
    *target = from;
  }
  return 0;
}

DnnDescriptor made(const DnnDescriptor& from, DescriptorType type, std::int64_t engine) {
  DnnDescriptor result;
  result.type = type;
  result.finalized = true;
  result.plan = from.plan;
  result.engine = engine;
  return result;
}

int read(
    const DnnDescriptor& one, Attribute name, std::int64_t room, std::int64_t* count, void* to) {
  switch (name) {
    case Attribute::kGraphEngineCount:
      return give<std::int64_t>(room, count, to, {kEngines});
    case Attribute::kHeuristicResults: {
      std::vector<DnnDescriptor> list;
      if (one.number<abi::CudnnCalls::HeuristicMode>(Attribute::kHeuristicMode) ==
          abi::CudnnCalls::HeuristicMode::kA) {
        for (std::int64_t engine = 0; engine < kEngines; ++engine) {
          list.push_back(made(one, DescriptorType::kEngineConfiguration, engine));
        }
      }
      return give_descriptors(room, count, to, list);
    }
    case Attribute::kConfigurationEngine:
      return give_descriptors(room, count, to, {made(one, DescriptorType::kEngine, one.engine)});
    case Attribute::kConfigurationKnobChoices:
      *count = 0;
      return 0;
    case Attribute::kEngineIndex:
      return give<std::int64_t>(room, count, to, {one.engine});
    case Attribute::kEngineNumericalNotes:
      return give<int>(room, count, to, {});
    case Attribute::kEngineBehaviourNotes:
      return give<int>(room, count, to, {kSupportsGraphs});
    case Attribute::kConfigurationWorkspace:
    case Attribute::kPlanWorkspace:
      return give<std::int64_t>(room, count, to, {workspace_of(one.engine)});
    default:
      return kDnnNotSupported;
  }
}

}  // namespace
}  // namespace plumb::stand_in

using namespace plumb::stand_in;  // NOLINT: the entry points have no namespace
namespace dnn = plumb::cuda::abi;

PLUMB_EXPORT std::size_t cudnnGetVersion() {
  return 91900;
}
PLUMB_EXPORT std::size_t cudnnGetCudartVersion() {
  return 13000;
}
PLUMB_EXPORT const char* cudnnGetErrorString(int status) {
  switch (status) {
    case 0:
      return "CUDNN_STATUS_SUCCESS";
    case kDnnBadParam:
      return "CUDNN_STATUS_BAD_PARAM";
    case kDnnNotSupported:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    default:
      return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}
PLUMB_EXPORT void cudnnGetLastErrorString(char* words, std::size_t room) {
  if (room > 0) {
    words[0] = '\0';
  }
}
PLUMB_EXPORT int cudnnCreate(void** handle) {
  auto one = std::make_unique<DnnHandle>();
  if (one->memory.take(kWorkspace) != 0) {
    return 1001;  // CUDNN_STATUS_NOT_INITIALIZED
  }
  *handle = one.release();
  return 0;
}
PLUMB_EXPORT int cudnnDestroy(void* handle) {
  const std::unique_ptr<DnnHandle> one(static_cast<DnnHandle*>(handle));
  return one->memory.give_back() == 0 ? 0 : kDnnExecutionFailed;
}
PLUMB_EXPORT int cudnnSetStream(void* handle, void* stream) {
  static_cast<DnnHandle*>(handle)->stream = stream;
  return 0;
}
PLUMB_EXPORT int cudnnBackendCreateDescriptor(DescriptorType type, void** handle) {
  auto one = std::make_shared<DnnDescriptor>();
  one->type = type;
  *handle = one.get();
  living()[*handle] = std::move(one);
  return 0;
}
PLUMB_EXPORT int cudnnBackendDestroyDescriptor(void* handle) {
  return living().erase(handle) == 1 ? 0 : kDnnBadParam;
}
PLUMB_EXPORT int cudnnBackendSetAttribute(
    void* handle, Attribute name, ValueType type, std::int64_t count, const void* values) {
  const auto one = find(handle);
  if (one == nullptr || one->finalized || count < 0) {
    return kDnnBadParam;
  }
  DnnDescriptor::Value value{type, count, {}, {}};
  const auto* const begin = static_cast<const std::byte*>(values);
  value.bytes.assign(begin, begin + static_cast<std::size_t>(count) * size_of(type));
  for (std::int64_t i = 0; type == ValueType::kDescriptor && i < count; ++i) {
    const auto part = find(static_cast<void* const*>(values)[i]);
    if (part == nullptr || !part->finalized) {
      return kDnnBadParam;
    }
    value.parts.push_back(part);
  }
  one->values[name] = std::move(value);
  return 0;
}
PLUMB_EXPORT int cudnnBackendFinalize(void* handle) {
  const auto one = find(handle);
  if (one == nullptr || one->finalized) {
    return kDnnBadParam;
  }
  int status = kDnnBadParam;
  try {
    status = finish(*one);
  } catch (const std::exception&) {
    status = kDnnNotSupported;  // an attribute is missing, or the graph is not modelled
  }
  one->finalized = status == 0;
  return status;
}
PLUMB_EXPORT int cudnnBackendGetAttribute(void* handle,
                                          Attribute name,
                                          ValueType /*type*/,
                                          std::int64_t room,
                                          std::int64_t* count,
                                          void* values) {
  const auto one = find(handle);
  if (one == nullptr || !one->finalized) {
    return kDnnBadParam;
  }
  return read(*one, name, room, count, values);
}
PLUMB_EXPORT int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  const auto what = find(plan);
  const auto operands = find(pack);
  if (what == nullptr || operands == nullptr || !what->finalized || !operands->finalized ||
      what->plan == nullptr) {
    return kDnnBadParam;
  }
  try {
    const auto ids = operands->numbers<std::int64_t>(Attribute::kPackIds);
    const auto pointers = operands->numbers<void*>(Attribute::kPackPointers);
    std::map<std::int64_t, void*> by_id;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      by_id[ids[i]] = pointers.at(i);
    }
    return execute_plan(what->plan,
                        by_id,
                        operands->number<void*>(Attribute::kPackWorkspace),
                        static_cast<std::size_t>(workspace_of(what->engine)),
                        static_cast<DnnHandle*>(handle)->stream);
  } catch (const std::exception&) {
    return kDnnBadParam;
  }
}
