// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/traces/trace_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>

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

}  // namespace plumb::importers
