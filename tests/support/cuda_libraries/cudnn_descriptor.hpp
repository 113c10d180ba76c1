// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runners/cuda/dnn/cudnn_abi.hpp"

namespace plumb::stand_in {

inline constexpr int kDnnBadParam = 2000;
inline constexpr int kDnnNotSupported = 3000;
inline constexpr int kDnnExecutionFailed = 5000;

/// Graph of a finalized operation graph, an engine of it or a plan, as a plan executes it.
struct DnnPlan;

/// One descriptor of cuDNN's graph interface: what was set, and whether it is finalized.
struct DnnDescriptor {
  struct Value {
    cuda::abi::CudnnCalls::ValueType type{};
    std::int64_t count = 0;
    std::vector<std::byte> bytes;
    std::vector<std::shared_ptr<const DnnDescriptor>> parts;
  };

  cuda::abi::CudnnCalls::DescriptorType type{};
  bool finalized = false;
  std::map<cuda::abi::CudnnCalls::Attribute, Value> values;
  std::shared_ptr<const DnnPlan> plan;
  std::int64_t engine = 0;

  [[nodiscard]] bool has(cuda::abi::CudnnCalls::Attribute name) const {
    return values.contains(name);
  }
  /// Returns numbers that were set as `Number`s. Throws std::out_of_range if they were not.
  template <typename Number>
  [[nodiscard]] std::vector<Number> numbers(cuda::abi::CudnnCalls::Attribute name) const {
    const Value& value = values.at(name);
    std::vector<Number> list;
    for (std::size_t i = 0; i < value.bytes.size(); i += sizeof(Number)) {
      Number one{};
      std::memcpy(&one, value.bytes.data() + i, sizeof one);
      list.push_back(one);
    }
    return list;
  }
  template <typename Number>
  [[nodiscard]] Number number(cuda::abi::CudnnCalls::Attribute name) const {
    return numbers<Number>(name).at(0);
  }
  [[nodiscard]] const DnnDescriptor& part(cuda::abi::CudnnCalls::Attribute name) const {
    return *values.at(name).parts.at(0);
  }
};

}  // namespace plumb::stand_in
