// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/backend_registry.hpp"

#include <vector>

#ifdef PLUMB_CONTRACT_ONEDNN
#include "runners/onednn/library_loader.hpp"
#endif

namespace plumb::contract {
namespace {

std::vector<BackendEntry> built_backends() {
  std::vector<BackendEntry> entries;
#ifdef PLUMB_CONTRACT_ONEDNN
  entries.push_back(
      {"onednn", [] { return onednn::load_backend({PLUMB_ONEDNN_LIBRARY}, PLUMB_ONEDNN_MODULE); }});
#endif
  return entries;
}

}  // namespace

std::span<const BackendEntry> backends() {
  static const std::vector<BackendEntry> kEntries = built_backends();
  return kEntries;
}

}  // namespace plumb::contract
