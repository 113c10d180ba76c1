// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/backend_registry.hpp"

#include <cstdlib>
#include <vector>

#include "runners/cuda/cuda_backend.hpp"

#ifdef PLUMB_CONTRACT_ONEDNN
#include "harness/analysis/compare/comparison_result.hpp"
#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/library_loader.hpp"
#endif
#ifdef PLUMB_ONNXRUNTIME_LIBRARY
#include "runners/onnxruntime/onnxruntime_backend.hpp"
#endif

namespace plumb::contract {
namespace {

/// CUDA backend with what it refers to.
class WholeCudaBackend final : public worker::Backend {
 public:
  WholeCudaBackend() : device_(driver_), library_({cudnn()}), backend_(library_, device_) {}

  [[nodiscard]] results::Environment describe() const override { return backend_.describe(); }
  [[nodiscard]] results::Outcome supports(const model::LayerKey& key) const override {
    return backend_.supports(key);
  }
  [[nodiscard]] std::vector<worker::Variant> variants(const model::LayerKey& key) const override {
    return backend_.variants(key);
  }
  [[nodiscard]] worker::Backend::Prepared prepare(const model::LayerKey& key,
                                                  const std::string& variant) override {
    return backend_.prepare(key, variant);
  }
  [[nodiscard]] worker::Backend::PreparedModel prepare_model(
      const model::Graph& graph, const worker::Backend::ModelOptions& options) override {
    return backend_.prepare_model(graph, options);
  }

 private:
  static std::string cudnn() {
    const char* const named = std::getenv("PLUMB_TEST_CUDNN");
    return named != nullptr ? named : "libcudnn.so.9";
  }

  cuda::Driver driver_;
  cuda::Device device_;
  cuda::CudnnLibrary library_;
  cuda::CudaBackend backend_;
};

std::vector<BackendEntry> built_backends() {
  std::vector<BackendEntry> entries;
  // Without a driver, a GPU or a cuDNN its tests are skipped and say what is missing.
  entries.push_back(
      {"cuda",
       []() -> std::unique_ptr<worker::Backend> { return std::make_unique<WholeCudaBackend>(); },
       [](const worker::Variant& /*variant*/) { return false; }});
#ifdef PLUMB_CONTRACT_ONEDNN
  entries.push_back(
      {"onednn",
       [] { return onednn::load_backend({PLUMB_ONEDNN_LIBRARY}, PLUMB_ONEDNN_MODULE); },
       [](const worker::Variant& variant) {
         return onednn::is_before_vnni(analysis::implementation_name(variant.text).instruction_set);
       }});
#endif
#ifdef PLUMB_ONNXRUNTIME_LIBRARY
  // Another version than ci/setup's: PLUMB_TEST_ONNXRUNTIME names its file.
  entries.push_back({"onnxruntime",
                     [] {
                       const char* const named = std::getenv("PLUMB_TEST_ONNXRUNTIME");
                       return onnxruntime::make_onnxruntime_backend(
                           {named != nullptr ? named : PLUMB_ONNXRUNTIME_LIBRARY}, 1);
                     },
                     [](const worker::Variant& /*variant*/) { return false; }});
#endif
  return entries;
}

}  // namespace

std::span<const BackendEntry> backends() {
  static const std::vector<BackendEntry> kEntries = built_backends();
  return kEntries;
}

}  // namespace plumb::contract
