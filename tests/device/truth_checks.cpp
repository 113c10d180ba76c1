// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/cuda_backend.hpp"
#include "runners/cuda/event_clock.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "tests/device/gpu_checks.hpp"

namespace plumb::device_checks {
namespace {

using nlohmann::json;

constexpr std::size_t kVariants = 8;   // of the library's list, its first choice first
constexpr std::int64_t kDepth = 2048;  // of the product that tells TF32 from f32

/// Names the properties as cuDNN's description of a device and suites/gpus do.
json properties(const cuda::Driver& driver, const cuda::Device& device) {
  const auto number = [&](cuda::abi::DriverCalls::DeviceAttribute name) {
    return device.attribute(name);
  };
  int version = 0;
  driver.check(driver.calls().driver_get_version(&version), "the driver's version");
  using Attribute = cuda::abi::DriverCalls::DeviceAttribute;
  return {
      {"deviceVer", 100 * number(Attribute::kComputeMajor) + 10 * number(Attribute::kComputeMinor)},
      {"multiProcessorCount", number(Attribute::kMultiprocessors)},
      {"warpSize", number(Attribute::kWarpSize)},
      {"maxSharedMemoryPerBlock", number(Attribute::kSharedMemoryPerBlock)},
      {"maxSharedMemoryPerBlockOptin", number(Attribute::kSharedMemoryPerBlockOptin)},
      {"reservedSharedMemoryPerBlock", number(Attribute::kReservedSharedMemoryPerBlock)},
      {"maxRegistersPerSM", number(Attribute::kRegistersPerMultiprocessor)},
      {"maxCtasPerSM", number(Attribute::kBlocksPerMultiprocessor)},
      {"maxThreadsPerBlock", number(Attribute::kThreadsPerBlock)},
      {"maxThreadsPerSM", number(Attribute::kThreadsPerMultiprocessor)},
      {"regsPerBlock", number(Attribute::kRegistersPerBlock)},
      {"totalGlobalMem", device.memory().value},
      {"smClockRateKHz", number(Attribute::kClockRate)},
      {"l2CacheSize", number(Attribute::kL2CacheSize)},
      {"maxBlockSize",
       {number(Attribute::kBlockX), number(Attribute::kBlockY), number(Attribute::kBlockZ)}},
      {"memClockRateKHz", number(Attribute::kMemoryClockRate)},
      {"memoryBusWidth", number(Attribute::kMemoryBusWidth)},
      {"maxGridSize",
       {number(Attribute::kGridX), number(Attribute::kGridY), number(Attribute::kGridZ)}},
      {"supportCoopLaunch", number(Attribute::kCooperativeLaunch)},
      {"pciDeviceId", number(Attribute::kPciDevice)},
      {"isTccDriver", number(Attribute::kTccDriver)},
      {"cudaDeviceId", 0},
      {"driverVer", version},
      {"deviceName", device.name()}};
}

/// Times copies of the largest array by the slope of replays.
json copy_rate(const cuda::Driver& driver, const CheckSizes& sizes) {
  const cuda::DeviceStream stream(driver);
  const cuda::Device::Memory from(driver, sizes.largest);
  const cuda::Device::Memory to(driver, sizes.largest);
  cuda::EventClock clock(driver, stream, [&](std::size_t) {
    driver.check(
        driver.calls().memcpy_on_device(to.address(), from.address(), sizes.largest, stream.get()),
        "a copy on the GPU");
  });
  const std::size_t slot = 0;
  std::vector<Seconds> times;
  for (int i = 0; i < sizes.samples; ++i) {
    times.push_back(clock.sample(std::span(&slot, 1)).each);
  }
  return {{"array_bytes", sizes.largest}, {"seconds", summary_json(times)}};
}

model::LayerSpec product(model::DataType type,
                         std::int64_t rows,
                         std::int64_t depth,
                         model::LayerSpec::MathClass math) {
  model::LayerSpec spec;
  spec.op = "matmul";
  spec.math = math;
  spec.inputs = {model::TensorType{type, {rows, depth}, false, {}},
                 model::TensorType{type, {depth, rows}, true, {}}};
  spec.outputs = {model::TensorType{type, {rows, rows}, false, {}}};
  return spec;
}

/// Executes the library's first variants of a product, each compared with the reference of
/// `promised`, and timed if `samples` is not 0. An outcome that is not ok says why.
json product_rows(cuda::CudaBackend& backend,
                  const model::LayerSpec& asked,
                  const model::LayerSpec& promised,
                  int samples) {
  const model::LayerKey key = model::to_key(asked);
  const std::vector<model::Tensor> operands = engine::random_operands(promised, 1);
  const engine::Verifier verifier(promised, operands);
  json rows = json::array();
  for (const worker::Variant& variant : backend.variants(key)) {
    if (rows.size() == kVariants) {
      break;
    }
    const worker::Backend::Prepared prepared = backend.prepare(key, variant.text);
    const auto cores = variant.attributes.find("tensor_cores");
    json row{{"variant", variant.text},
             {"tensor_cores", cores == variant.attributes.end() ? "unknown" : cores->second},
             {"outcome", to_text(prepared.outcome.kind)},
             {"reason", prepared.outcome.reason},
             {"maximum_error", nullptr},
             {"seconds", nullptr}};
    if (prepared.outcome.ok()) {
      worker::Program& program = *prepared.program;
      program.bind(0, operands, false);
      program.enqueue(0);
      program.synchronize();
      const engine::Verifier::Verdict verdict = verifier.verify(program.outputs(0));
      row["outcome"] = to_text(verdict.outcome.kind);
      row["reason"] = verdict.outcome.reason;
      row["maximum_error"] = verdict.maximum_error ? json(*verdict.maximum_error) : json(nullptr);
      auto* const clock = dynamic_cast<worker::Program::DeviceClock*>(&program);
      std::vector<Seconds> times;
      const std::size_t slot = 0;
      for (int i = 0; i < samples && clock != nullptr; ++i) {
        times.push_back(clock->sample(std::span(&slot, 1)).each);
      }
      if (!times.empty()) {
        row["seconds"] = summary_json(times);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

json check_truths(const std::string& cudnn, const CheckSizes& sizes) {
  const cuda::Driver driver;
  const cuda::Device device(driver);
  const cuda::CudnnLibrary library({cudnn});
  cuda::CudaBackend backend(library, device);
  const model::LayerSpec large = product(
      model::DataType::kBf16, sizes.extent, sizes.extent, model::LayerSpec::MathClass::kStrict);
  const std::int64_t rows = std::min<std::int64_t>(256, sizes.extent);
  const model::LayerSpec strict =
      product(model::DataType::kF32, rows, kDepth, model::LayerSpec::MathClass::kStrict);
  model::LayerSpec tf32 = strict;
  tf32.math = model::LayerSpec::MathClass::kTf32;
  const results::Environment environment = backend.describe();
  return {{"schema_version", 1},
          {"identity", environment.identity},
          {"facts", environment.facts},
          {"properties", properties(driver, device)},
          {"copy", copy_rate(driver, sizes)},
          {"product",
           {{"key", model::to_key(large).text},
            {"flops", 2.0 * std::pow(static_cast<double>(sizes.extent), 3)},
            {"rows", product_rows(backend, large, large, sizes.samples)}}},
          {"strict_f32",
           {{"tolerance", engine::compute_tolerance(strict)},
            {"f32", product_rows(backend, strict, strict, 0)},
            {"tf32", product_rows(backend, tf32, strict, 0)}}}};
}

}  // namespace plumb::device_checks
