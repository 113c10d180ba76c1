// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/nearest_name.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::zoo {
namespace {

/// Limit of the batch: more images than any machine of today holds. Products of sizes stay far from
/// 2^63.
constexpr std::int64_t kMaximumBatch = 1'000'000;

[[noreturn]] void fail_unknown(const Entry& entry, const std::string& axis) {
  std::vector<std::string_view> names;
  for (const Axis& known : entry.axes) {
    names.push_back(known.name);
  }
  throw Error(Error::Kind::kUser,
              names.empty()
                  ? fmt::format("model '{}' has no axis '{}': only its batch varies",
                                entry.name,
                                axis.substr(0, 64))
                  : fmt::format("model '{}' has no axis '{}'; did you mean '{}'?",
                                entry.name,
                                axis.substr(0, 64),
                                plumb::nearest_name(axis, names).value_or(std::string_view{})));
}

void check_extent(const Entry& entry, const Axis& axis, std::int64_t extent) {
  if (extent < axis.least || extent > axis.most || extent % axis.step != 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' of model '{}' is {}; it must be from {} to {}{}",
                            axis.name,
                            entry.name,
                            extent,
                            axis.least,
                            axis.most,
                            axis.step == 1 ? "" : fmt::format(" and a multiple of {}", axis.step)));
  }
}

}  // namespace

std::int64_t Sizes::operator[](std::string_view axis) const {
  const auto found = axes.find(axis);
  PLUMB_CHECK(found != axes.end());
  return found->second;
}

Sizes Entry::sizes(std::int64_t batch, const std::map<std::string, std::int64_t>& asked) const {
  check_extent(*this, Axis{.name = "batch", .most = kMaximumBatch}, batch);
  Sizes result{.batch = batch};
  for (const Axis& axis : axes) {
    result.axes.emplace(axis.name, axis.standard);
  }
  for (const auto& [asked_name, extent] : asked) {
    const Axis* axis = nullptr;
    for (const Axis& known : axes) {
      axis = known.name == asked_name ? &known : axis;
    }
    if (axis == nullptr) {
      fail_unknown(*this, asked_name);
    }
    check_extent(*this, *axis, extent);
    result.axes.insert_or_assign(asked_name, extent);
  }
  return result;
}

onnx::ModelProto Entry::build(std::int64_t batch,
                              const std::map<std::string, std::int64_t>& asked) const {
  return builder(sizes(batch, asked));
}

const Entry* find(std::string_view name) {
  for (const Entry& entry : entries()) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

std::string_view nearest_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries()) {
    names.push_back(entry.name);
  }
  return plumb::nearest_name(name, names).value_or(std::string_view{});
}

}  // namespace plumb::zoo
