// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/importers/traces/trace_file.hpp"

namespace plumb::importers {
namespace {

using Kind = results::ExecutedTrace::Description::Kind;
using Dims = std::vector<std::int64_t>;

constexpr std::size_t kMaxValues = 256;  // of one call
constexpr std::size_t kMaxRank = 16;
constexpr std::string_view kNestedIndent = "i!         ";

struct Function {
  std::string_view name;
  Kind kind;
  std::string_view operation;
};

constexpr std::array kFunctions = std::to_array<Function>({
    {"cudnnConvolutionForward", Kind::kCompute, "convolution"},
    {"cudnnConvolutionBiasActivationForward", Kind::kCompute, "convolution"},
    {"cudnnConvolutionBackwardData", Kind::kCompute, "deconvolution"},
    {"cudnnPoolingForward", Kind::kCompute, "pooling"},
    {"cudnnActivationForward", Kind::kCompute, "eltwise"},
    {"cudnnSoftmaxForward", Kind::kCompute, "softmax"},
    {"cudnnBatchNormalizationForwardInference", Kind::kCompute, "batch_normalization"},
    {"cudnnLRNCrossChannelForward", Kind::kCompute, "lrn"},
    {"cudnnAddTensor", Kind::kCompute, "binary"},
    {"cudnnOpTensor", Kind::kCompute, "binary"},
    {"cudnnTransformTensor", Kind::kReorder, "reorder"},
    {"cudnnTransformTensorEx", Kind::kReorder, "reorder"},
    {"cudnnTransformFilter", Kind::kReorder, "reorder"},
    {"cudnnReorderFilterAndBias", Kind::kReorder, "reorder"},
    {"cublasLtMatmul", Kind::kCompute, "matmul"},
    {"cublasLtMatrixTransform", Kind::kReorder, "reorder"},
});

/// Element types, by the ends of the libraries' names: CUDNN_DATA_FLOAT, R_32F.
constexpr std::array kTypes = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"DATA_FLOAT", "float"},
    {"DATA_HALF", "float16"},
    {"DATA_BFLOAT16", "bfloat16"},
    {"DATA_DOUBLE", "double"},
    {"DATA_INT8", "int8"},
    {"R_32F", "float"},
    {"R_16F", "float16"},
    {"R_16BF", "bfloat16"},
    {"R_64F", "double"},
    {"R_8I", "int8"},
});

std::string type_name(std::string_view text) {
  const auto* const row = std::find_if(
      kTypes.begin(), kTypes.end(), [&](const auto& each) { return text.ends_with(each.first); });
  return std::string(row == kTypes.end() ? text.substr(0, kMaxTraceText) : row->second);
}

std::optional<Function> find_function(std::string_view name) {
  const auto* const row = std::find_if(
      kFunctions.begin(), kFunctions.end(), [&](const auto& each) { return each.name == name; });
  if (row != kFunctions.end()) {
    return *row;
  }
  // Products of cuBLAS have a name for each type: cublasSgemm_v2, cublasGemmEx.
  const bool product = name.starts_with("cublas") && !name.starts_with("cublasLt") &&
                       (name.find("emm") != std::string_view::npos);
  return product ? std::optional(Function{{}, Kind::kCompute, "matmul"}) : std::nullopt;
}

/// Reads "[1,3,224,224]".
Dims parse_dims(std::string_view text) {
  Dims dims;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    return dims;
  }
  for (const std::string_view part : split(text.substr(1, text.size() - 2), ',')) {
    const std::optional<std::int64_t> extent = parse_number<std::int64_t>(part);
    if (!extent || dims.size() == kMaxRank) {
      return {};
    }
    dims.push_back(*extent);
  }
  return dims;
}

/// Returns the text behind `name` up to the first of `ends`. Empty: it has no such name.
std::string_view text_behind(std::string_view text, std::string_view name, std::string_view ends) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) {
    return {};
  }
  text.remove_prefix(at + name.size());
  return text.substr(0, text.find_first_of(ends));
}

/// Reader of one log, line by line.
class LogReader {
 public:
  results::ExecutedTrace read(std::istream& in) {
    read_lines(in, [this](std::string_view line) { take(line); });
    end_block();
    if (trace_.format.empty()) {
      trace_.format = "cublas";
    }
    trace_.descriptions = std::move(descriptions_).take();
    return std::move(trace_);
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with("I! ")) {
      end_block();
      begin_block(line);
    } else if (line.starts_with("i!")) {
      take_value(line);
    } else if (line.starts_with('[') && line.find("][cublasLt][") != std::string_view::npos) {
      end_block();
      take_cublaslt(line);
    }
  }

  void begin_block(std::string_view line) {
    if (line.starts_with("I! CuDNN")) {
      trace_.format = "cudnn";
    }
    // "function cudnnConvolutionForward() called:", or with the type of a result before the name.
    std::string_view name = text_behind(line, " function ", "(");
    name = name.substr(name.find_last_of(' ') + 1);
    function_ = find_function(name);
    name_ = name.substr(0, kMaxTraceText);
    values_.clear();
    outer_.clear();
  }

  /// Takes "i!     xDesc: type=…:", "i!         dimA: type=int; val=[…];" and the like.
  void take_value(std::string_view line) {
    if (!function_ || values_.size() == kMaxValues) {
      return;
    }
    const std::size_t begin = line.find_first_not_of(' ', 2);
    const std::size_t colon = line.find(':');
    if (begin == std::string_view::npos || colon == std::string_view::npos || colon < begin) {
      return;
    }
    const std::string_view name = line.substr(begin, std::min(colon - begin, kMaxTraceText));
    const bool nested = line.starts_with(kNestedIndent);
    if (!nested) {
      outer_ = name;
    }
    const std::string_view value = text_behind(line, "val=", ";");
    if (!value.empty()) {
      values_.emplace(nested ? fmt::format("{}.{}", outer_, name) : std::string(name),
                      value.substr(0, kMaxTraceText));
    }
  }

  [[nodiscard]] std::string_view value(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string_view() : std::string_view(found->second);
  }

  void end_block() {
    if (!function_) {
      return;
    }
    results::ExecutedTrace::Description call;
    call.kind = function_->kind;
    call.operation = function_->operation;
    call.implementation = name_;
    // An enumerator has its number behind it: "CUDNN_DATA_FLOAT (0)".
    const auto word = [](std::string_view text) { return text.substr(0, text.find(' ')); };
    if (const std::string_view algorithm = word(value("algo")); !algorithm.empty()) {
      call.implementation += fmt::format(" {}", algorithm);
    }
    for (const std::string descriptor : {"xDesc", "srcDesc", "wDesc", "filterDesc"}) {
      Dims dims = parse_dims(value(descriptor + ".dimA"));
      if (dims.empty()) {
        continue;
      }
      const Dims strides = parse_dims(value(descriptor + ".strideA"));
      if (dims.size() == 4 && strides.size() == 4 && call.layouts.empty()) {
        call.layouts = strides[1] == 1 && dims[1] > 1 ? "src:acdb" : "src:abcd";
      }
      call.types.push_back(type_name(word(value(descriptor + ".dataType"))));
      call.inputs.push_back(std::move(dims));
    }
    const auto extent = [&](const char* name) { return parse_number<std::int64_t>(value(name)); };
    if (const auto m = extent("m"), n = extent("n"), k = extent("k"); m && n && k) {
      // By columns: m counts the columns of a result that is stored by rows.
      call.problem = fmt::format("{}x{}:{}x{}", *n, *k, *k, *m);
    }
    function_.reset();
    add(std::move(call));
  }

  void take_cublaslt(std::string_view line) {
    std::string_view name;
    for (const std::string_view part : split(line.substr(0, line.find("] ")), ']')) {
      name = part.substr(std::min<std::size_t>(part.size(), 1));
    }
    if (name == "cublasLtTSTMatmul") {  // within cublasGemmEx
      name = "cublasLtMatmul";
    }
    const std::optional<Function> function = find_function(name);
    if (!function) {
      return;
    }
    results::ExecutedTrace::Description call;
    call.kind = function->kind;
    call.operation = function->operation;
    call.implementation = function->name;
    for (const std::string_view part : {text_behind(line, "algo=[", "]").substr(0, kMaxTraceText),
                                        text_behind(line, "epilogue=", " ]")}) {
      if (!part.empty()) {
        call.implementation += fmt::format(" {}", part.substr(0, kMaxTraceText));
      }
    }
    const std::string_view left = text_behind(line, "Bdesc=[", "]");
    const std::string_view result = text_behind(line, "Ddesc=[", "]");
    const auto extent = [](std::string_view text, std::string_view field) {
      return parse_number<std::int64_t>(text_behind(text, field, " "));
    };
    const auto rows = extent(result, "cols=");
    const auto columns = extent(result, "rows=");
    const auto inner = text_behind(line, "transb=", " ]") == "OP_T" ? extent(left, "cols=")
                                                                    : extent(left, "rows=");
    if (rows && columns && inner) {
      call.problem = fmt::format("{}x{}:{}x{}", *rows, *inner, *inner, *columns);
    }
    if (const std::string_view type = text_behind(left, "type=", " "); !type.empty()) {
      call.types.push_back(type_name(type));
    }
    add(std::move(call));
  }

  void add(results::ExecutedTrace::Description call) {
    if (trace_.calls.size() >= kMaxCalls) {
      throw Error(Error::Kind::kUser,
                  fmt::format("the log has more than {} calls: trace fewer executions", kMaxCalls));
    }
    std::string text =
        fmt::format("{}\n{}\n{}\n", call.operation, call.implementation, call.problem);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      text += call.types[i] + call.layouts;
      for (const std::int64_t extent : call.inputs[i]) {
        text += fmt::format(",{}", extent);
      }
    }
    const std::optional<std::uint32_t> known = descriptions_.find(text);
    trace_.calls.push_back({{}, known ? *known : descriptions_.add(text, std::move(call))});
  }

  results::ExecutedTrace trace_;
  DescriptionTable descriptions_;
  std::optional<Function> function_;  // of the block; absent: it does not count
  std::string name_;                  // of that function
  std::string outer_;                 // value that nested ones belong to
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace

results::ExecutedTrace read_cuda_library_log(std::istream& in) {
  return LogReader().read(in);
}

}  // namespace plumb::importers
