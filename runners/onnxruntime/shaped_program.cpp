// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/shaped_program.hpp"

#include <string_view>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"

namespace plumb::onnxruntime {
namespace {

/// Returns a digest of a model's weights.
std::string digest_of_weights(const OnnxModel& model, std::span<const model::Tensor> operands) {
  std::string digests;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (model.operands[i].type.constant) {
      const std::vector<std::byte>& data = operands[i].data;
      digests +=
          sha256({static_cast<const char*>(static_cast<const void*>(data.data())), data.size()});
    }
  }
  return digests;
}

}  // namespace

ShapedProgram::ShapedProgram(const Library& library,
                             std::vector<OnnxModel> models,
                             const SessionSettings& settings)
    : library_(library), models_(std::move(models)), settings_(settings) {
  settings_.profile = false;
}

worker::ProgramFacts ShapedProgram::facts() const {
  return shapes_.empty() ? worker::ProgramFacts{} : shapes_.front()->facts();
}

void ShapedProgram::bind(std::size_t slot,
                         std::span<const model::Tensor> operands,
                         bool shared_activations) {
  PLUMB_CHECK(slot == shapes_.size() && slot < models_.size() && !shared_activations);
  const OnnxModel& model = models_[slot];
  std::string weights = digest_of_weights(model, operands);
  if (slot == 0) {
    session_ = std::make_shared<Session>(library_, model.with_weights(operands), settings_);
    weights_ = std::move(weights);
  } else if (weights != weights_) {
    throw Error(Error::Kind::kUser, "the weights of one shape are not those of another");
  }
  shapes_.push_back(std::make_unique<SessionProgram>(library_, model, settings_, session_));
  shapes_.back()->bind(0, operands, false);
}

void ShapedProgram::enqueue(std::size_t slot) {
  shapes_[slot]->enqueue(0);
}

void ShapedProgram::synchronize() {
  for (const std::unique_ptr<SessionProgram>& shape : shapes_) {
    shape->synchronize();
  }
}

std::vector<model::Tensor> ShapedProgram::outputs(std::size_t slot) {
  return shapes_[slot]->outputs(0);
}

}  // namespace plumb::onnxruntime
