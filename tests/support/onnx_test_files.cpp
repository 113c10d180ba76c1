// SPDX-License-Identifier: Apache-2.0
#include "tests/support/onnx_test_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>

#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/values/constant_value.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::test_support {
namespace {

namespace fs = std::filesystem;

template <typename Message>
Message read_message(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Message message;
  if (!file || !message.ParseFromIstream(&file)) {
    throw Unsupported{"a file cannot be read as what it should be"};
  }
  return message;
}

void lift_opset(onnx::ModelProto& model) {
  for (onnx::OperatorSetIdProto& opset : *model.mutable_opset_import()) {
    if (opset.domain().empty() && opset.version() < 7) {
      opset.set_version(7);
    }
  }
}

}  // namespace

onnx::ModelProto read_test_model(const fs::path& folder) {
  auto model = read_message<onnx::ModelProto>(folder / "model.onnx");
  lift_opset(model);
  return model;
}

model::Tensor tensor_of(const onnx::TensorProto& proto) {
  model::Tensor tensor;
  const std::optional<model::DataType> type = model::data_type_of(proto.data_type());
  if (!type || !engine::is_number(*type)) {
    throw Unsupported{"its data are of a type that is no number here"};
  }
  tensor.type.dtype = *type;
  tensor.type.dims.assign(proto.dims().begin(), proto.dims().end());
  const auto bytes = static_cast<std::size_t>(model::byte_size(tensor.type).value);
  tensor.data.resize(bytes);
  const auto copy = [&](const void* from, std::size_t size) {
    if (size != bytes) {
      throw Unsupported{"its data do not fit its shape"};
    }
    if (bytes > 0) {
      std::memcpy(tensor.data.data(), from, bytes);
    }
  };
  if (proto.has_raw_data()) {
    copy(proto.raw_data().data(), proto.raw_data().size());
  } else if (tensor.type.dtype == model::DataType::kF32) {
    copy(proto.float_data().data(), static_cast<std::size_t>(proto.float_data_size()) * 4);
  } else if (tensor.type.dtype == model::DataType::kF64) {
    copy(proto.double_data().data(), static_cast<std::size_t>(proto.double_data_size()) * 8);
  } else if (tensor.type.dtype == model::DataType::kS64) {
    copy(proto.int64_data().data(), static_cast<std::size_t>(proto.int64_data_size()) * 8);
  } else if (bytes > 0) {
    // All types below 64 bits stand in int32_data, 16-bit floats as their bits.
    const auto size = static_cast<std::size_t>(model::element_bytes(tensor.type.dtype));
    if (static_cast<std::size_t>(proto.int32_data_size()) != bytes / size) {
      throw Unsupported{"its data do not fit its shape"};
    }
    for (int i = 0; i < proto.int32_data_size(); ++i) {
      const std::int32_t value = proto.int32_data(i);
      std::memcpy(tensor.data.data() + static_cast<std::size_t>(i) * size, &value, size);
    }
  }
  return tensor;
}

onnx::TensorProto read_tensor(const fs::path& path, const onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) {
    throw Unsupported{"its values are sequences or optional"};
  }
  auto proto = read_message<onnx::TensorProto>(path);
  proto.set_name(value.name());
  // NumPy has no bfloat16: the tests of ONNX 1.12 store its bits as uint16.
  if (value.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16 &&
      proto.data_type() == onnx::TensorProto::UINT16) {
    proto.set_data_type(onnx::TensorProto::BFLOAT16);
  }
  return proto;
}

std::string difference(const std::vector<model::Tensor>& expected,
                       const std::vector<model::Tensor>& actual,
                       const std::function<double(std::size_t)>& allowed) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i >= actual.size() || actual[i].type.dims != expected[i].type.dims ||
        actual[i].type.dtype != expected[i].type.dtype) {
      return fmt::format("output {} has another shape or type", i);
    }
    const std::vector<double> right = engine::read_numbers(expected[i]);
    const std::vector<double> got = engine::read_numbers(actual[i]);
    double largest = 0.0;
    for (const double value : right) {
      largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
    }
    const double limit = allowed(i) * largest;
    for (std::size_t element = 0; element < right.size(); ++element) {
      const bool same =
          std::isnan(right[element]) ? std::isnan(got[element]) : right[element] == got[element];
      if (!same && !(std::fabs(right[element] - got[element]) <= limit)) {
        return fmt::format("output {} element {}: expected {:.9g}, got {:.9g}, allowed is {:.3g}",
                           i,
                           element,
                           right[element],
                           got[element],
                           limit);
      }
    }
  }
  return {};
}

}  // namespace plumb::test_support
