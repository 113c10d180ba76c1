// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/onednn/onednn_backend.hpp"

namespace plumb::onednn {

using Values = std::map<model::ValueId, model::Tensor>;

/// Steps of one model, one after the other.
class Steps {
 public:
  Steps(const rewrite::TrainingStep& step,
        const Values& values,
        const worker::Backend::ModelOptions& options = {})
      : step_(step), prepared_(backend_->prepare_model(step.training.graph, options)) {
    if (!prepared_.outcome.ok()) {
      ADD_FAILURE() << prepared_.outcome.reason;
      return;
    }
    std::vector<model::Tensor> operands;
    for (const model::ValueId id : prepared_.operands) {
      operands.push_back(values.at(id));
    }
    prepared_.program->bind(0, operands, false);
  }

  /// Executes one step and returns the loss before it.
  double next() {
    prepared_.program->enqueue(0);
    prepared_.program->synchronize();
    outputs_ = prepared_.program->outputs(0);
    return engine::number_at(outputs_.at(0), 0);
  }

  /// Returns the new weights, by their names in the graph.
  [[nodiscard]] std::map<std::string, std::vector<double>> weights() const {
    std::map<std::string, std::vector<double>> found;
    for (std::size_t i = 0; i < step_.training.gradients.size(); ++i) {
      const model::ValueId id = step_.training.gradients[i].parameter;
      found[step_.training.graph.values[id].name] = engine::read_numbers(outputs_.at(1 + i));
    }
    return found;
  }

  /// Returns the new running statistics, in the order of the graph's list.
  [[nodiscard]] std::vector<std::vector<double>> running_statistics() const {
    std::vector<std::vector<double>> found;
    for (std::size_t i = step_.training.statistics.size(); i > 0; --i) {
      found.push_back(engine::read_numbers(outputs_.at(outputs_.size() - i)));
    }
    return found;
  }

  /// Returns the new scale of a step whose loss is scaled.
  [[nodiscard]] double loss_scale() const {
    return engine::number_at(outputs_.at(outputs_.size() - 2), 0);
  }

  [[nodiscard]] const worker::Backend::PreparedModel& prepared() const { return prepared_; }

 private:
  std::unique_ptr<worker::Backend> backend_ = make_onednn_backend();
  const rewrite::TrainingStep& step_;
  worker::Backend::PreparedModel prepared_;
  std::vector<model::Tensor> outputs_;
};

/// Returns the relative distance of two lists: the norm of the difference over that of the second.
[[nodiscard]] double distance(const std::vector<double>& found,
                              const std::vector<double>& expected);

/// Makes a convolutional network of which 16 random images and their classes are to be learnt by
/// heart.
[[nodiscard]] model::Graph toy();

/// Draws numbers for a graph's inputs and weights, of sizes with which training begins at once.
[[nodiscard]] Values toy_values(const rewrite::TrainingStep& step);

/// Returns the layers of a kind.
[[nodiscard]] std::vector<model::Layer> layers_of(const model::Graph& graph, std::string_view op);

}  // namespace plumb::onednn
