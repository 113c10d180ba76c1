// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/onednn/layer_run.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "runners/engine/number_formats.hpp"

namespace plumb::onednn {

bool has_bf16(const worker::Backend& backend) {
  return backend.supports({"v1:matmul;in=bf16[4,8],bf16[8,4]c;out=bf16[4,4];acc=f32;math=strict"})
      .ok();
}

model::Tensor f32_tensor(const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
  model::Tensor tensor{model::TensorType{model::DataType::kF32, dims, false, {}}, {}};
  tensor.data.resize(values.size() * sizeof(float));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

std::vector<model::Tensor> run(worker::Backend& backend,
                               const model::LayerKey& key,
                               const std::string& variant,
                               const std::vector<model::Tensor>& operands) {
  const worker::Backend::Prepared prepared = backend.prepare(key, variant);
  if (prepared.program == nullptr) {
    ADD_FAILURE() << key.text << " " << variant << ": " << prepared.outcome.reason;
    return {};
  }
  prepared.program->bind(0, operands, false);
  prepared.program->enqueue(0);
  prepared.program->synchronize();
  return prepared.program->outputs(0);
}

std::vector<float> run_first(worker::Backend& backend,
                             const std::string& key,
                             const std::vector<model::Tensor>& operands) {
  const std::vector<worker::Variant> variants = backend.variants(model::LayerKey{key});
  if (variants.empty()) {
    ADD_FAILURE() << key << ": " << backend.supports(model::LayerKey{key}).reason;
    return {};
  }
  std::vector<float> values;
  for (const model::Tensor& tensor :
       run(backend, model::LayerKey{key}, variants.front().text, operands)) {
    for (const double number : engine::read_numbers(tensor)) {
      values.push_back(static_cast<float>(number));
    }
  }
  return values;
}

}  // namespace plumb::onednn
