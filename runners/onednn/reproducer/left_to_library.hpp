// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::onednn {

/// Layouts of a primitive that were left to the library. Some implementations exist only if they
/// are asked for in that way.
struct LeftToLibrary {
  bool weights = false;
  bool activations = false;
};

}  // namespace plumb::onednn
