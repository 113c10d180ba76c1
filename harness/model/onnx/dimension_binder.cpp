// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/dimension_binder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include "harness/base/error.hpp"
#include "harness/base/name_match.hpp"

namespace plumb::model {
namespace {

[[noreturn]] void fail(const std::string& input, int axis, std::string_view problem) {
  throw Error(Error::Kind::kUser,
              fmt::format("input '{}', dimension {}: {}", input.substr(0, 200), axis, problem));
}

}  // namespace

void DimensionBinder::bind_input(const std::string& input, onnx::TypeProto& type) {
  if (!type.has_tensor_type()) {
    return;
  }
  if (!type.tensor_type().has_shape()) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("input '{}' has no shape: export the model with one", input.substr(0, 200)));
  }
  onnx::TensorShapeProto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (int axis = 0; axis < shape.dim_size(); ++axis) {
    onnx::TensorShapeProto::Dimension& dim = *shape.mutable_dim(axis);
    const std::string name = dim.has_dim_param() ? dim.dim_param() : std::string();
    const std::string place = fmt::format("{}.{}", input, axis);
    if (!name.empty()) {
      seen_.insert(name);
    }
    seen_.insert(place);
    std::optional<std::int64_t> extent;
    if (dim.has_dim_value()) {
      extent = dim.dim_value();
    }
    std::optional<std::int64_t> named;
    for (const std::string& key : {name, place}) {
      const auto option = options_->dims.find(key);
      if (option != options_->dims.end()) {
        named = option->second;
      }
    }
    const auto same = bound_.find(name);
    if (!extent && !named && same != bound_.end()) {
      extent = same->second;
      batch_taken_ = batch_taken_ || (axis == 0 && extent == options_->batch);
    } else if (axis == 0 && named) {
      note_named_batch(input, *named);
    } else if (axis == 0) {
      extent = bind_batch(input, name, extent);
    }
    extent = named ? named : extent;
    if (!extent) {
      fail(input,
           axis,
           fmt::format("its extent '{}' is open: bind it with --dim {}=N{}",
                       name,
                       name.empty() ? place : name,
                       axis == 0 ? " or --batch N" : ""));
    }
    if (*extent < 0) {
      fail(input,
           axis,
           fmt::format("a negative extent of {}: bind it with --dim {}=N{}",
                       *extent,
                       place,
                       axis == 0 ? " or --batch N" : ""));
    }
    if (!name.empty() && bound_.emplace(name, *extent).first->second != *extent) {
      fail(input,
           axis,
           fmt::format("'{}' is {} here and {} elsewhere: bind it with --dim {}=N",
                       name,
                       *extent,
                       bound_.at(name),
                       name));
    }
    dim.set_dim_value(*extent);
  }
}

std::optional<std::int64_t> DimensionBinder::bind_batch(const std::string& input,
                                                        const std::string& name,
                                                        std::optional<std::int64_t> fixed) {
  const bool open = !fixed || *fixed < 0;
  if (!options_->batch) {
    if (open && options_->open_batch) {
      notes_.push_back(
          fmt::format("the first dimension{} of input '{}' is open: it is set to {}; --batch N (in "
                      "a suite: batch = N) sets another",
                      name.empty() ? "" : fmt::format(" '{}'", name.substr(0, 200)),
                      input.substr(0, 200),
                      *options_->open_batch));
      return options_->open_batch;
    }
    return fixed;
  }
  if (open || *fixed == *options_->batch) {
    batch_taken_ = true;
    return options_->batch;
  }
  if (!options_->rebatch) {
    if (contradiction_.empty()) {
      contradiction_ = fmt::format("input '{}' is fixed at {}", input.substr(0, 200), *fixed);
    }
    return fixed;
  }
  batch_taken_ = true;
  replaced_batch_ = fixed;
  notes_.push_back(fmt::format("the first dimension of input '{}' is rewritten from {} to {}",
                               input.substr(0, 200),
                               *fixed,
                               *options_->batch));
  return options_->batch;
}

void DimensionBinder::note_named_batch(const std::string& input, std::int64_t extent) {
  if (extent == options_->batch) {
    batch_taken_ = true;
  } else if (options_->batch > 1 && contradiction_.empty()) {  // 1 is what a suite's defaults say
    contradiction_ = fmt::format("--dim sets input '{}' to {}", input.substr(0, 200), extent);
  }
}

void DimensionBinder::bind_value(onnx::TypeProto& type) const {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) {
    return;
  }
  for (onnx::TensorShapeProto::Dimension& dim :
       *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
    const auto found = dim.has_dim_param() ? bound_.find(dim.dim_param()) : bound_.end();
    if (found != bound_.end()) {
      dim.set_dim_value(found->second);
    }
  }
}

void DimensionBinder::check_all_used() const {
  if (options_->batch && !batch_taken_ && !contradiction_.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("a batch of {} is requested, but {}: leave the batch out, or rewrite "
                            "the first dimensions with --rebatch {} (in a suite: rebatch = true)",
                            *options_->batch,
                            contradiction_,
                            *options_->batch));
  }
  for (const auto& [name, extent] : options_->dims) {
    if (!seen_.contains(name)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("the model has no dimension '{}' to set to {}; did you mean '{}'? It "
                              "has {}",
                              name,
                              extent,
                              nearest_name(name, seen_).value_or(std::string_view{}),
                              fmt::join(seen_, ", ")));
    }
  }
}

}  // namespace plumb::model
