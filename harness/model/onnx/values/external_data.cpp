// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/external_data.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::model {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const onnx::TensorProto& tensor, std::string_view problem) {
  throw Error(
      Error::Kind::kUser,
      fmt::format("external data of tensor '{}': {}", tensor.name().substr(0, 200), problem));
}

std::uint64_t number(const onnx::TensorProto& tensor,
                     const std::string& key,
                     const std::string& text) {
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text);
  if (!value) {
    fail(tensor, fmt::format("{} '{}' is not a number of bytes", key, text.substr(0, 40)));
  }
  return *value;
}

fs::path resolve(const onnx::TensorProto& tensor,
                 const fs::path& folder,
                 const std::string& location) {
  const fs::path relative(location);
  if (folder.empty()) {
    fail(tensor, "a model in memory has no folder to read it from");
  }
  if (location.empty() || location.size() > 4096 || location.find('\0') != std::string::npos ||
      relative.is_absolute() ||
      std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end()) {
    fail(tensor,
         fmt::format("location '{}' does not name a file inside the model's folder",
                     location.substr(0, 200)));
  }
  std::error_code code;
  const fs::path inside = fs::canonical(folder, code);
  const fs::path file = code ? fs::path() : fs::canonical(folder / relative, code);
  if (code) {
    fail(tensor,
         fmt::format("cannot find '{}': {}; put it beside the model",
                     (folder / relative).string(),
                     code.message()));
  }
  const auto [left, rest] = std::mismatch(inside.begin(), inside.end(), file.begin(), file.end());
  if (left != inside.end()) {
    fail(tensor,
         fmt::format(
             "location '{}' leads out of the model's folder, to '{}'", location, file.string()));
  }
  if (!fs::is_regular_file(file, code)) {
    fail(tensor, fmt::format("'{}' is not a regular file", file.string()));
  }
  return file;
}

}  // namespace

ExternalData locate_external_data(const onnx::TensorProto& tensor,
                                  const fs::path& folder,
                                  std::uint64_t bytes) {
  std::string location;
  ExternalData data;
  data.length = bytes;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      data.offset = number(tensor, "offset", entry.value());
    } else if (entry.key() == "length") {
      data.length = number(tensor, "length", entry.value());
    }
  }
  data.file = resolve(tensor, folder, location);
  if (data.length != bytes) {
    fail(tensor, fmt::format("length {} where the shape needs {} bytes", data.length, bytes));
  }
  std::error_code code;
  const std::uintmax_t size = fs::file_size(data.file, code);
  if (code || data.offset > size || data.length > size - data.offset) {
    fail(tensor,
         fmt::format("bytes {} to {} + {} lie beyond the end of '{}' ({} bytes)",
                     data.offset,
                     data.offset,
                     data.length,
                     data.file.string(),
                     code ? 0 : size));
  }
  return data;
}

std::string read_external_data(const ExternalData& data) {
  std::string bytes(data.length, '\0');
  std::ifstream stream(data.file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(data.offset));
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "cannot read {} bytes at {} of '{}'", data.length, data.offset, data.file.string()));
  }
  return bytes;
}

}  // namespace plumb::model
