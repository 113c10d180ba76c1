// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/onnx_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/text_format.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/model/onnx/model_limits.hpp"

namespace plumb::model {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestBinary =
    std::numeric_limits<std::int32_t>::max();  // protobuf's own limit
constexpr std::uintmax_t kLargestText = std::uintmax_t{64} << 20;

[[noreturn]] void fail(const fs::path& path, std::string_view problem) {
  throw Error(Error::Kind::kUser,
              fmt::format("cannot read model '{}': {}", path.string(), problem));
}

/// Owner of a file descriptor, which is negative if opening failed.
class OpenFile {
 public:
  explicit OpenFile(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Collector of the text parser's first error.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line,
                google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (text.empty()) {
      text = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
    }
  }
  std::string text;
};

std::string read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream) {
    fail(path, "reading failed");
  }
  return content.str();
}

onnx::ModelProto load_binary(const fs::path& path) {
  const OpenFile file(path);
  if (file.descriptor() < 0) {
    fail(path, "opening failed");
  }
  onnx::ModelProto model;
  google::protobuf::io::FileInputStream stream(file.descriptor(), 1 << 20);
  if (!model.ParseFromZeroCopyStream(&stream)) {
    fail(path, "it is not a complete ONNX file (a protobuf message of type onnx.ModelProto)");
  }
  return model;
}

}  // namespace

onnx::ModelProto load_onnx_file(const fs::path& path) {
  std::error_code code;
  if (!fs::is_regular_file(path, code)) {
    fail(path, code ? code.message() : "it is not a regular file");
  }
  const std::string extension = path.extension().string();
  const bool onnx_text = extension == ".onnxtxt" || extension == ".onnxtext";
  const bool proto_text =
      extension == ".textproto" || extension == ".prototxt" || extension == ".pbtxt";
  const std::uintmax_t size = fs::file_size(path, code);
  const std::uintmax_t largest = onnx_text || proto_text ? kLargestText : kLargestBinary;
  if (code || size > largest) {
    fail(
        path,
        fmt::format(
            "{} bytes are more than the {} that such a file may have; keep the weights as external "
            "data or leave them out",
            size,
            largest));
  }
  if (size == 0) {
    fail(path, "it is empty");
  }
  if (onnx_text) {
    onnx::ModelProto model;
    const std::string content = read_text(path);
    if (const std::size_t depth = text_nesting(content); depth > kMaxTextNesting) {
      fail(path,
           fmt::format("{} brackets are nested, but at most {} are read: split the subgraphs",
                       depth,
                       kMaxTextNesting));
    }
    try {
      const onnx::Common::Status status = onnx::OnnxParser::Parse(model, content.c_str());
      if (!status.IsOK()) {
        fail(path, status.ErrorMessage());
      }
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail(path, error.what());
    }
    return model;
  }
  if (proto_text) {
    onnx::ModelProto model;
    FirstError first;
    google::protobuf::TextFormat::Parser parser;
    parser.SetRecursionLimit(static_cast<int>(kMaxTextNesting));
    parser.RecordErrorsTo(&first);
    if (!parser.ParseFromString(read_text(path), &model)) {
      fail(path, first.text);
    }
    return model;
  }
  return load_binary(path);
}

}  // namespace plumb::model
