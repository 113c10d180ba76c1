// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"

namespace plumb::cuda {

/// Owner of one of cuDNN's descriptors. The library must outlive it. Every call throws CudnnRefusal
/// with cuDNN's message if it is refused.
class Descriptor {
 public:
  using Attribute = abi::CudnnCalls::Attribute;
  using ValueType = abi::CudnnCalls::ValueType;

  Descriptor(const CudnnLibrary& library, abi::CudnnCalls::DescriptorType type);

  [[nodiscard]] abi::Descriptor get() const { return handle_.get(); }

  void set(Attribute name, std::span<const std::int64_t> values);
  void set(Attribute name, std::int64_t value) { set(name, std::span(&value, 1)); }
  void set(Attribute name, float value);
  void set(Attribute name, double value);
  void set_flag(Attribute name, bool value);
  /// Sets an enumerator, which cuDNN takes with a type of its own.
  void set_enumerator(Attribute name, ValueType type, int value);
  void set_handle(Attribute name, abi::DnnHandle handle);
  void set_pointers(Attribute name, std::span<void* const> addresses);
  void set_text(Attribute name, std::string_view text);
  void set(Attribute name, const Descriptor& value);
  void set(Attribute name, std::span<const Descriptor> values);
  /// Finalizes the descriptor, which makes cuDNN check it. `what` names it in a refusal.
  void finish(const char* what);

  /// Reads one number of 64 bits.
  [[nodiscard]] std::int64_t integer(Attribute name) const;
  /// Reads one number of 32 bits. Absent: cuDNN has none.
  [[nodiscard]] std::optional<std::int64_t> small_integer(Attribute name) const;
  /// Reads one enumerator of a type of its own.
  [[nodiscard]] int enumerator(Attribute name, ValueType type) const;
  /// Reads enumerators of a type of their own.
  [[nodiscard]] std::vector<int> enumerators(Attribute name, ValueType type) const;
  [[nodiscard]] std::string text(Attribute name) const;
  /// Reads descriptors of a type that cuDNN fills in. `most` bounds them where cuDNN does not say
  /// how many there are. For knob choices it reports none, but gives them all the same.
  [[nodiscard]] std::vector<Descriptor> descriptors(
      Attribute name,
      abi::CudnnCalls::DescriptorType type,
      std::optional<std::int64_t> most = std::nullopt) const;

 private:
  void set_raw(Attribute name, ValueType type, std::size_t count, const void* values);
  [[nodiscard]] std::int64_t count(Attribute name, ValueType type) const;

  const CudnnLibrary* library_;
  OwnedDescriptor handle_;
};

/// Graph in cuDNN's own form, with the descriptors of which it is made. They must live as long as
/// the graph.
struct OperationGraph {
  std::vector<Descriptor> parts;
  Descriptor graph;
};

/// Makes cuDNN's own form of a graph. A graph that is to be executed needs its device's `handle`.
/// Throws CudnnRefusal.
[[nodiscard]] OperationGraph operation_graph(const CudnnLibrary& library,
                                             const TensorGraph& graph,
                                             abi::DnnHandle handle = nullptr);

}  // namespace plumb::cuda
