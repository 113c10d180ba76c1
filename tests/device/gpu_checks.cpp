// SPDX-License-Identifier: Apache-2.0
// Checks what measurements on this GPU rest on, and writes one JSON document:
//   plumb_gpu_checks clocks                     timers, graphs and slopes, beside the profiler
//   plumb_gpu_checks truths CUDNN               properties, copy rate, bf16 product, TF32
//   plumb_gpu_checks choices CUDNN GPU KEYS     cuDNN's choices here and for a described GPU
// with --largest BYTES, --extent N and --samples N for smaller sizes. Ends with 77 where there is
// no GPU.
#include "tests/device/gpu_checks.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "harness/base/error.hpp"

int main(int argc, char** argv) {
  plumb::device_checks::CheckSizes sizes;
  std::string cudnn;
  std::string profile;
  std::string keys;
  double limit = 3600.0;
  CLI::App app("checks what measurements on this GPU rest on");
  app.add_option("--largest", sizes.largest, "bytes of the largest array")->capture_default_str();
  app.add_option("--extent", sizes.extent, "of the bf16 product")->capture_default_str();
  app.add_option("--samples", sizes.samples, "of each time")->capture_default_str();
  app.require_subcommand(1);
  const auto* const clocks = app.add_subcommand("clocks", "timers, graphs and slopes");
  auto* const truths = app.add_subcommand("truths", "properties, copy, product, TF32");
  truths->add_option("CUDNN", cudnn, "libcudnn.so.9")->required();
  auto* const choices = app.add_subcommand("choices", "cuDNN's, here and for a described GPU");
  choices->add_option("CUDNN", cudnn, "libcudnn.so.9")->required();
  choices->add_option("GPU", profile, "a profile's file")->required();
  choices->add_option("KEYS", keys, "a file, one key a line")->required();
  choices->add_option("--seconds", limit, "after which no key is begun")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const nlohmann::json document =
        clocks->parsed() ? plumb::device_checks::check_clocks(sizes)
        : truths->parsed()
            ? plumb::device_checks::check_truths(cudnn, sizes)
            : plumb::device_checks::check_choices(cudnn, profile, keys, plumb::Seconds(limit));
    std::puts(document.dump(2).c_str());
    return 0;
  } catch (const plumb::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.kind() == plumb::Error::Kind::kEnvironment ? 77 : error.exit_status();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "the GPU's memory is too small: see --largest and --extent\n");
    return 3;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 70;
  }
}
