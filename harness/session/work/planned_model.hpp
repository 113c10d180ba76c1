// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::session {

/// One model of a suite, read and given its data type.
struct PlannedModel {
  analysis::ModelInstance instance;
  model::Graph graph;
};

}  // namespace plumb::session
