// SPDX-License-Identifier: Apache-2.0
//
// Reads traces of 100 MB in each format and prints seconds and the process's largest memory.
#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "harness/importers/traces/trace_file.hpp"

namespace {

constexpr std::size_t kBytes = 100'000'000;

void measure(const std::filesystem::path& file,
             const std::string& head,
             const std::string& call,
             const std::string& last) {
  std::size_t written = head.size() + last.size();
  {
    std::ofstream out(file);
    out << head;
    for (; written < kBytes; written += call.size()) {
      out << call;
    }
    out << last;
  }
  const auto begin = std::chrono::steady_clock::now();
  const plumb::results::ExecutedTrace trace = plumb::importers::read_trace_file(file);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{}: {} bytes, {} calls, {:.2f} s, at most {} MiB\n",
             trace.format,
             written,
             trace.calls.size(),
             time.count(),
             usage.ru_maxrss / 1024);
}

}  // namespace

int main() {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "plumb-trace-bench";
  const std::string event =
      R"({"cat":"Node","pid":1,"tid":1,"dur":30,"ts":1010,"ph":"X","name":"conv1_kernel_time",)"
      R"("args":{"op_name":"Conv","input_type_shape":[{"float":[1,3,8,8]},{"float":[4,3,3,3]}],)"
      R"("output_type_shape":[{"float":[1,4,8,8]}],"provider":"CPUExecutionProvider"}})";
  measure(file, "[" + event, "," + event, "]");
  const std::string op =
      R"({"ph":"X","cat":"cpu_op","name":"aten::conv2d","pid":7,"tid":7,"ts":100,"dur":50,)"
      R"("args":{"External id":1,"Input Dims":[[1,3,8,8],[4,3,3,3]],"Input type":["float"]}})";
  measure(file, R"({"traceEvents":[)" + op, "," + op, "]}");
  measure(file,
          "",
          "onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_inference,"
          "src_f32::blocked:acdb:f0 wei_f32::blocked:Acdb16a:f0 dst_f32::blocked:aBcd16b:f0,,"
          "alg:convolution_direct,mb1_ic3oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7sw2dw0pw3,1.5\n",
          "");
  std::filesystem::remove(file);
}
