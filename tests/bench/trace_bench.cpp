// SPDX-License-Identifier: Apache-2.0
//
// Reads traces of 100 MB in each format and prints seconds and the process's largest memory.
#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "harness/importers/traces/trace_file.hpp"

namespace {

constexpr std::size_t kBytes = 100'000'000;
constexpr std::size_t kLayers = 100;  // of the traced model

void measure(const std::filesystem::path& file,
             const std::string& head,
             const std::function<std::string(std::size_t)>& call,
             const std::string& last) {
  std::size_t written = head.size() + last.size();
  {
    std::ofstream out(file);
    out << head;
    for (std::size_t i = 0; written < kBytes; ++i) {
      const std::string text = call(i);
      out << text;
      written += text.size();
    }
    out << last;
  }
  const auto begin = std::chrono::steady_clock::now();
  const plumb::results::ExecutedTrace trace = plumb::importers::read_trace_file(file);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{}: {} bytes, {} calls, {} different, {:.2f} s, at most {} MiB\n",
             trace.format,
             written,
             trace.calls.size(),
             trace.descriptions.size(),
             time.count(),
             usage.ru_maxrss / 1024);
}

}  // namespace

int main() {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "plumb-trace-bench";
  const auto separator = [](std::size_t i) { return i == 0 ? "" : ","; };
  const auto event = [&](std::size_t i) {
    return fmt::format(
        R"({}{{"cat":"Node","pid":1,"tid":1,"dur":30,"ts":{},"ph":"X","name":"conv{}_kernel_time",)"
        R"("args":{{"op_name":"Conv","input_type_shape":[{{"float":[1,3,8,8]}},{{"float":[4,3,3,3]}}],)"
        R"("output_type_shape":[{{"float":[1,4,8,8]}}],"provider":"CPUExecutionProvider"}}}})",
        separator(i),
        100 * i,
        i % kLayers);
  };
  measure(file, "[", event, "]");
  const auto op = [&](std::size_t i) {
    return fmt::format(
        R"({}{{"ph":"X","cat":"cpu_op","name":"aten::conv2d","pid":7,"tid":7,"ts":{},"dur":50,)"
        R"("args":{{"External id":1,"Input Dims":[[1,{},8,8],[4,3,3,3]],"Input type":["float"]}}}})",
        separator(i),
        100 * i,
        1 + i % kLayers);
  };
  measure(file, R"({"traceEvents":[)", op, "]}");
  const auto line = [](std::size_t i) {
    return fmt::format(
        "onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_inference,"
        "src_f32::blocked:acdb:f0 wei_f32::blocked:Acdb16a:f0 dst_f32::blocked:aBcd16b:f0,,"
        "alg:convolution_direct,mb1_ic{}oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7sw2dw0pw3,1.{}\n",
        1 + i % kLayers,
        i % 1000);
  };
  measure(file, "", line, "");
  std::filesystem::remove(file);
}
