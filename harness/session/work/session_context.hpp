// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "harness/session/work/model_source.hpp"
#include "harness/session/work/progress.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// References to what a session works with. All of it outlives the session.
struct SessionContext {
  store::Store& store;
  const ModelSource& models;
  const std::atomic<bool>& stop;  ///< set when the user wants the session to end
  ProgressDisplay& progress;
};

/// References to a store and to the source of the models that its runs measured.
struct Archive {
  const store::Store& store;
  const ModelSource& models;
};

}  // namespace plumb::session
