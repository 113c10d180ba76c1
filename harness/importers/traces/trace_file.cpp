// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/traces/trace_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

constexpr std::int64_t kLargestText = std::int64_t{8} << 30;

struct CloseFile {
  void operator()(gzFile file) const { gzclose(file); }
};

/// Bytes of a file, unpacked if it is compressed.
class UnpackedBytes final : public std::streambuf {
 public:
  explicit UnpackedBytes(const std::filesystem::path& file)
      : file_(std::filesystem::is_regular_file(file) ? gzopen(file.c_str(), "rb") : nullptr) {
    if (!file_) {
      throw Error(Error::Kind::kUser, "it cannot be read: check the path and its permissions");
    }
    gzbuffer(file_.get(), 1 << 17);
  }

 protected:
  int_type underflow() override {
    const int count = gzread(file_.get(), bytes_.data(), static_cast<unsigned>(bytes_.size()));
    read_ += std::max(count, 0);
    if (count < 0 || read_ > kLargestText) {
      throw Error(Error::Kind::kUser,
                  count < 0 ? "its compression is damaged" : "it is larger than 8 GiB");
    }
    setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(bytes_[0]);
  }

 private:
  std::unique_ptr<gzFile_s, CloseFile> file_;
  std::array<char, std::size_t{1} << 16> bytes_{};
  std::int64_t read_ = 0;
};

results::ExecutedTrace read_bytes(std::streambuf& bytes) {
  std::istream in(&bytes);
  in.exceptions(std::ios::badbit);  // lets the error of underflow() through
  while (std::isspace(bytes.sgetc()) != 0) {
    bytes.sbumpc();
  }
  const int first = bytes.sgetc();
  if (first == '{') {
    return read_event_trace(in);
  }
  if (first == '[') {
    // Lines of cuBLASLt begin with the date in brackets.
    const bool is_date = std::isdigit(bytes.snextc()) != 0;
    bytes.sungetc();
    return is_date ? read_cuda_library_log(in) : read_event_trace(in);
  }
  return read_onednn_log(in);
}

/// Reads a log that is none of oneDNN. Other lines may stand before its first call.
results::ExecutedTrace read_other_log(const std::filesystem::path& file) {
  UnpackedBytes bytes(file);
  std::istream in(&bytes);
  in.exceptions(std::ios::badbit);
  return read_cuda_library_log(in);
}

}  // namespace

results::ExecutedTrace read_trace_file(const std::filesystem::path& file) {
  try {
    UnpackedBytes bytes(file);
    results::ExecutedTrace trace = read_bytes(bytes);
    if (trace.calls.empty() && trace.format == "onednn") {
      trace = read_other_log(file);
    }
    if (trace.calls.empty()) {
      throw Error(
          Error::Kind::kUser,
          "it has no executed calls; give it a log written with ONEDNN_VERBOSE=profile, a "
          "profile of ONNX Runtime, a trace of torch.profiler, or a log of cuDNN or cuBLAS");
    }
    return trace;
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("trace '{}': {}", file.string(), error.what()));
  }
}

namespace {

/// Returns about what a description takes in memory.
std::size_t compute_bytes(const results::ExecutedTrace::Description& description) {
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

std::uint32_t DescriptionTable::add(std::string_view text,
                                    results::ExecutedTrace::Description description) {
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

namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 10;
constexpr std::size_t kMaxParts = 64;

void append(std::string_view text, std::string& line) {
  line.append(text.substr(0, kLongestLine - line.size()));
}

}  // namespace

void read_lines(std::istream& in, const std::function<void(std::string_view)>& take) {
  std::string line;  // begun in an earlier block
  std::array<char, std::size_t{1} << 16> block;
  const auto size = static_cast<std::streamsize>(block.size());
  for (std::streamsize read = in.rdbuf()->sgetn(block.data(), size); read > 0;
       read = in.rdbuf()->sgetn(block.data(), size)) {
    std::string_view rest(block.data(), static_cast<std::size_t>(read));
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      append(rest.substr(0, end), line);
      take(line);
      line.clear();
      rest.remove_prefix(end + 1);
    }
    append(rest, line);
  }
  take(line);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < kMaxParts) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

namespace {

using Kind = results::ExecutedTrace::Call::Kind;

constexpr std::array kKinds{std::pair{"ReorderInput", Kind::kReorder},
                            std::pair{"ReorderOutput", Kind::kReorder},
                            std::pair{"Transpose", Kind::kReorder},
                            std::pair{"aten::contiguous", Kind::kReorder},
                            std::pair{"aten::to_mkldnn", Kind::kReorder},
                            std::pair{"aten::to_dense", Kind::kReorder},
                            std::pair{"Memcpy", Kind::kCopy},
                            std::pair{"MemcpyFromHost", Kind::kCopy},
                            std::pair{"MemcpyToHost", Kind::kCopy},
                            std::pair{"Cast", Kind::kCopy},
                            std::pair{"Identity", Kind::kCopy},
                            std::pair{"aten::copy_", Kind::kCopy},
                            std::pair{"aten::clone", Kind::kCopy},
                            std::pair{"aten::_to_copy", Kind::kCopy},
                            std::pair{"aten::to", Kind::kCopy},
                            std::pair{"Pad", Kind::kPad},
                            std::pair{"aten::pad", Kind::kPad},
                            std::pair{"aten::constant_pad_nd", Kind::kPad},
                            std::pair{"aten::item", Kind::kWait},
                            std::pair{"aten::_local_scalar_dense", Kind::kWait}};

/// Call that is not over yet, while calls are walked in the order of their starts.
struct Open {
  Seconds end;
  std::size_t kept;  // index of the kept call whose time this is part of
};

/// Returns the description of a call within another.
std::uint32_t within(std::uint32_t call, std::uint32_t around, DescriptionTable& descriptions) {
  const std::string text = fmt::format("w{},{}", call, around);
  if (const std::optional<std::uint32_t> known = descriptions.find(text)) {
    return *known;
  }
  results::ExecutedTrace::Description description = descriptions.at(call);
  description.name = descriptions.at(around).operation;
  return descriptions.add(text, std::move(description));
}

/// Returns the description of a call that is of a range's layer.
std::uint32_t of_layer(std::uint32_t call, std::uint32_t range, DescriptionTable& descriptions) {
  const std::string text = fmt::format("l{},{}", call, range);
  if (const std::optional<std::uint32_t> known = descriptions.find(text)) {
    return *known;
  }
  results::ExecutedTrace::Description description = descriptions.at(call);
  description.output = descriptions.at(range).output;
  return descriptions.add(text, std::move(description));
}

/// Returns whether a call comes before another: by thread, then by start, the outer one first.
bool is_before(const results::ExecutedTrace::TracedCall& a,
               const results::ExecutedTrace::TracedCall& b) {
  if (a.thread != b.thread) {
    return a.thread < b.thread;
  }
  return a.start != b.start ? a.start < b.start : a.duration > b.duration;
}

}  // namespace

results::ExecutedTrace::Call::Kind kind_of_operator(std::string_view operation) {
  const auto* const row = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const auto& each) { return each.first == operation; });
  return row == kKinds.end() ? Kind::kCompute : row->second;
}

std::vector<results::ExecutedTrace::TracedCall> outermost_calls(
    std::vector<results::ExecutedTrace::TracedCall> calls, DescriptionTable& descriptions) {
  std::stable_sort(calls.begin(), calls.end(), is_before);
  const auto kind_of = [&](const results::ExecutedTrace::TracedCall& call) {
    return descriptions.at(call.description).kind;
  };
  // Kept calls take the places of those before them: `calls` is read ahead of `kept`.
  std::size_t kept = 0;
  std::vector<Open> open;
  std::optional<std::uint64_t> thread;
  for (const results::ExecutedTrace::TracedCall each : std::as_const(calls)) {
    results::ExecutedTrace::TracedCall call = each;
    if (thread != call.thread) {
      open.clear();
      thread = call.thread;
    }
    while (!open.empty() && call.start >= open.back().end) {
      open.pop_back();
    }
    const Seconds end = call.start + call.duration;
    if (open.empty()) {
      open.push_back({end, kept});
      calls[kept++] = call;
      continue;
    }
    // A pad inside a convolution is told apart; a copy inside a copy is the same work.
    results::ExecutedTrace::TracedCall& around = calls[open.back().kept];
    if (kind_of(call) == Kind::kCompute || kind_of(around) != Kind::kCompute) {
      open.push_back({end, open.back().kept});
      continue;
    }
    call.duration = std::min(call.duration, around.duration);
    around.duration -= call.duration;
    call.description = within(call.description, around.description, descriptions);
    open.push_back({end, kept});
    calls[kept++] = call;
  }
  calls.resize(kept);
  return calls;
}

void place_in_ranges(std::vector<results::ExecutedTrace::TracedCall>& calls,
                     std::vector<results::ExecutedTrace::TracedCall> ranges,
                     DescriptionTable& descriptions) {
  std::stable_sort(ranges.begin(), ranges.end(), is_before);
  auto next = ranges.cbegin();  // the first that may hold the call
  for (results::ExecutedTrace::TracedCall& call : calls) {
    while (next != ranges.cend() &&
           (next->thread < call.thread ||
            (next->thread == call.thread && next->start + next->duration <= call.start))) {
      ++next;
    }
    if (next != ranges.cend() && next->thread == call.thread && next->start <= call.start) {
      call.description = of_layer(call.description, next->description, descriptions);
    }
  }
}

}  // namespace plumb::importers
