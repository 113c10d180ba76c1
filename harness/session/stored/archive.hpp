// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/session/work/model_source.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// References to a store and to the source of the models that its runs measured.
struct Archive {
  const store::Store& store;
  const ModelSource& models;
};

}  // namespace plumb::session
