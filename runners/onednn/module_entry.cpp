// SPDX-License-Identifier: Apache-2.0

#include "runners/onednn/onednn_backend.hpp"

extern "C" __attribute__((visibility("default"))) plumb::worker::Backend*
plumb_onednn_make_backend() {
  return plumb::onednn::make_onednn_backend().release();
}
