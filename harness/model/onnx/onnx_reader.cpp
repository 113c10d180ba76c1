// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/onnx_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/text_format.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <queue>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "harness/base/error.hpp"
#include "harness/base/name_match.hpp"

namespace plumb::model {

void check_size(const onnx::GraphProto& graph) {
  if (graph.node_size() > kMaxNodes) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model has {} nodes, and at most {} are read: export it with its "
                            "constants folded, or in parts",
                            graph.node_size(),
                            kMaxNodes));
  }
  std::int64_t names = std::int64_t{graph.initializer_size()} + graph.sparse_initializer_size() +
                       graph.input_size() + graph.output_size() + graph.value_info_size();
  for (const onnx::NodeProto& node : graph.node()) {
    names += std::int64_t{node.input_size()} + node.output_size();
  }
  if (names > kMaxNames) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model names {} operands, results and weights, and at most {} are "
                            "read: export it in parts",
                            names,
                            kMaxNames));
  }
}

std::size_t text_nesting(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          i += text[i] == '\\' ? 1U : 0U;
        }
        break;
      case '#':
        while (i + 1 < text.size() && text[i + 1] != '\n') {
          ++i;
        }
        break;
      case '{':
      case '(':
      case '[':
        deepest = std::max(deepest, ++depth);
        break;
      case '}':
      case ')':
      case ']':
        depth -= depth > 0 ? 1U : 0U;
        break;
      default:
        break;
    }
  }
  return deepest;
}

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

std::vector<int> order_nodes(const onnx::GraphProto& graph) {
  std::unordered_map<std::string_view, int> writers;
  writers.reserve(static_cast<std::size_t>(graph.node_size()) * 2);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (!output.empty() && !writers.emplace(output, i).second) {
        throw Error(Error::Kind::kUser,
                    fmt::format("value '{}' is written twice, the second time by node '{}' ({})",
                                output.substr(0, 200),
                                graph.node(i).name().substr(0, 200),
                                graph.node(i).op_type().substr(0, 200)));
      }
    }
  }
  const auto size = static_cast<std::size_t>(graph.node_size());
  std::vector<std::vector<int>> readers(size);
  std::vector<int> waiting(size, 0);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      const auto writer = writers.find(input);
      if (writer != writers.end()) {
        readers[static_cast<std::size_t>(writer->second)].push_back(i);
        ++waiting[static_cast<std::size_t>(i)];
      }
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (waiting[static_cast<std::size_t>(i)] == 0) {
      ready.push(i);
    }
  }
  std::vector<int> order;
  order.reserve(size);
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : readers[static_cast<std::size_t>(node)]) {
      if (--waiting[static_cast<std::size_t>(reader)] == 0) {
        ready.push(reader);
      }
    }
  }
  for (std::size_t i = 0; order.size() < size && i < size; ++i) {
    if (waiting[i] > 0) {
      const onnx::NodeProto& node = graph.node(static_cast<int>(i));
      throw Error(Error::Kind::kUser,
                  fmt::format("the nodes form a cycle through node '{}' ({})",
                              node.name().substr(0, 200),
                              node.op_type().substr(0, 200)));
    }
  }
  return order;
}

namespace {

[[noreturn]] void fail(const std::string& input, int axis, std::string_view problem) {
  throw Error(Error::Kind::kUser,
              fmt::format("input '{}', dimension {}: {}", input.substr(0, 200), axis, problem));
}

}  // namespace

void ReadOptions::Binder::bind_input(const std::string& input, onnx::TypeProto& type) {
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

std::optional<std::int64_t> ReadOptions::Binder::bind_batch(const std::string& input,
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

void ReadOptions::Binder::note_named_batch(const std::string& input, std::int64_t extent) {
  if (extent == options_->batch) {
    batch_taken_ = true;
  } else if (options_->batch > 1 && contradiction_.empty()) {  // 1 is what a suite's defaults say
    contradiction_ = fmt::format("--dim sets input '{}' to {}", input.substr(0, 200), extent);
  }
}

void ReadOptions::Binder::bind_value(onnx::TypeProto& type) const {
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

void ReadOptions::Binder::check_all_used() const {
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
