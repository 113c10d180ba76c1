// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/descriptor.hpp"

#include <algorithm>

namespace plumb::cuda {
namespace {

// Far above the length of any list of cuDNN's. It may announce more than it then gives.
constexpr std::int64_t kLongestList = 10'000;
constexpr std::int64_t kLongestText = std::int64_t{1} << 20;

OwnedDescriptor new_descriptor(const CudnnLibrary& library, abi::DescriptorType type) {
  abi::Descriptor handle = nullptr;
  library.check(library.calls().create_descriptor(type, &handle), "a new descriptor");
  return {handle, library.calls().destroy_descriptor};
}

}  // namespace

Descriptor::Descriptor(const CudnnLibrary& library, abi::DescriptorType type)
    : library_(&library), handle_(new_descriptor(library, type)) {}

void Descriptor::set_raw(abi::Attribute name,
                         abi::ValueType type,
                         std::size_t count,
                         const void* values) {
  library_->check(
      library_->calls().set_attribute(get(), name, type, static_cast<std::int64_t>(count), values),
      "an attribute");
}

void Descriptor::set(abi::Attribute name, std::span<const std::int64_t> values) {
  set_raw(name, abi::ValueType::kInt64, values.size(), values.data());
}
void Descriptor::set(abi::Attribute name, float value) {
  set_raw(name, abi::ValueType::kFloat, 1, &value);
}
void Descriptor::set(abi::Attribute name, double value) {
  set_raw(name, abi::ValueType::kDouble, 1, &value);
}
void Descriptor::set_flag(abi::Attribute name, bool value) {
  set_raw(name, abi::ValueType::kBoolean, 1, &value);
}
void Descriptor::set_enumerator(abi::Attribute name, abi::ValueType type, int value) {
  set_raw(name, type, 1, &value);
}
void Descriptor::set_handle(abi::Attribute name, abi::CudnnHandle handle) {
  set_raw(name, abi::ValueType::kHandle, 1, &handle);
}
void Descriptor::set_pointers(abi::Attribute name, std::span<void* const> addresses) {
  set_raw(name, abi::ValueType::kVoidPointer, addresses.size(), addresses.data());
}
void Descriptor::set_text(abi::Attribute name, std::string_view text) {
  set_raw(name, abi::ValueType::kChar, text.size(), text.data());
}
void Descriptor::set(abi::Attribute name, const Descriptor& value) {
  const abi::Descriptor handle = value.get();
  set_raw(name, abi::ValueType::kDescriptor, 1, &handle);
}
void Descriptor::set(abi::Attribute name, std::span<const Descriptor> values) {
  std::vector<abi::Descriptor> handles;
  for (const Descriptor& value : values) {
    handles.push_back(value.get());
  }
  set_raw(name, abi::ValueType::kDescriptor, handles.size(), handles.data());
}

void Descriptor::finish(const char* what) {
  library_->check(library_->calls().finalize(get()), what);
}

std::int64_t Descriptor::count(abi::Attribute name, abi::ValueType type) const {
  std::int64_t result = 0;
  library_->check(library_->calls().get_attribute(get(), name, type, 0, &result, nullptr),
                  "a count");
  return std::clamp<std::int64_t>(
      result, 0, type == abi::ValueType::kChar ? kLongestText : kLongestList);
}

std::int64_t Descriptor::integer(abi::Attribute name) const {
  std::int64_t value = 0;
  std::int64_t got = 0;
  library_->check(
      library_->calls().get_attribute(get(), name, abi::ValueType::kInt64, 1, &got, &value),
      "a number");
  return value;
}

std::optional<std::int64_t> Descriptor::small_integer(abi::Attribute name) const {
  std::int32_t value = 0;
  std::int64_t got = 0;
  const int status =
      library_->calls().get_attribute(get(), name, abi::ValueType::kInt32, 1, &got, &value);
  return status == abi::kSuccess && got == 1 ? std::optional<std::int64_t>(value) : std::nullopt;
}

int Descriptor::enumerator(abi::Attribute name, abi::ValueType type) const {
  int value = 0;
  std::int64_t got = 0;
  library_->check(library_->calls().get_attribute(get(), name, type, 1, &got, &value),
                  "an enumerator");
  return value;
}

std::vector<int> Descriptor::enumerators(abi::Attribute name, abi::ValueType type) const {
  std::vector<int> values(static_cast<std::size_t>(count(name, type)));
  std::int64_t got = 0;
  if (!values.empty()) {
    library_->check(
        library_->calls().get_attribute(
            get(), name, type, static_cast<std::int64_t>(values.size()), &got, values.data()),
        "enumerators");
    values.resize(
        std::min(values.size(), static_cast<std::size_t>(std::max<std::int64_t>(got, 0))));
  }
  return values;
}

std::string Descriptor::text(abi::Attribute name) const {
  std::string result(static_cast<std::size_t>(count(name, abi::ValueType::kChar)), '\0');
  std::int64_t got = 0;
  if (!result.empty()) {
    library_->check(library_->calls().get_attribute(get(),
                                                    name,
                                                    abi::ValueType::kChar,
                                                    static_cast<std::int64_t>(result.size()),
                                                    &got,
                                                    result.data()),
                    "a text");
    result.resize(std::min(result.find('\0'), result.size()));
  }
  return result;
}

std::vector<Descriptor> Descriptor::descriptors(abi::Attribute name,
                                                abi::DescriptorType type,
                                                std::optional<std::int64_t> most) const {
  const std::int64_t room = most ? *most : count(name, abi::ValueType::kDescriptor);
  std::vector<Descriptor> result;
  std::vector<abi::Descriptor> handles;
  for (std::int64_t index = 0; index < room; ++index) {
    result.emplace_back(*library_, type);
    handles.push_back(result.back().get());
  }
  std::int64_t got = 0;
  if (room > 0) {
    library_->check(library_->calls().get_attribute(
                        get(), name, abi::ValueType::kDescriptor, room, &got, handles.data()),
                    "descriptors");
  }
  result.erase(result.begin() + std::clamp<std::int64_t>(got, 0, room), result.end());
  return result;
}

}  // namespace plumb::cuda
