// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/traces/description_table.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

/// Returns about what a description takes in memory.
std::size_t compute_bytes(const results::CallDescription& description) {
  std::size_t bytes = sizeof(description) + description.operation.size() + description.name.size() +
                      description.output.size() + description.implementation.size() +
                      description.layouts.size() + description.problem.size();
  for (const std::string& type : description.types) {
    bytes += sizeof(type) + type.size();
  }
  for (const std::vector<std::int64_t>& shape : description.inputs) {
    bytes += sizeof(shape) + shape.size() * sizeof(std::int64_t);
  }
  return bytes + (description.layers ? description.layers->size() * sizeof(std::size_t) : 0);
}

}  // namespace

std::optional<std::uint32_t> DescriptionTable::find(std::string_view text) const {
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t DescriptionTable::add(std::string_view text, results::CallDescription description) {
  bytes_ += text.size() + compute_bytes(description);
  if (bytes_ > kMaxDescriptionBytes) {
    throw Error(Error::Kind::kUser,
                fmt::format("its calls differ in more than {} MiB of text: trace fewer models",
                            kMaxDescriptionBytes >> 20));
  }
  const auto number = static_cast<std::uint32_t>(descriptions_.size());
  numbers_.emplace(text, number);
  descriptions_.push_back(std::move(description));
  return number;
}

}  // namespace plumb::importers
