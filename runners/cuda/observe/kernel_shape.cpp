// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/kernel_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "runners/cuda/observe/tensor_core_use.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kNameKept = 512;  // bytes, in the JSON list

/// Kernel launch, and the number of equal launches that its entry in the list stands for.
struct Counted {
  const KernelShape* shape = nullptr;
  std::size_t launches = 0;
};

/// Lists the launches in order. If they are more than kMaxKernels, each different one stands there
/// once.
std::vector<Counted> listed(std::span<const KernelShape> launches) {
  std::vector<Counted> list;
  for (const KernelShape& launch : launches) {
    auto found = list.end();
    if (launches.size() > kMaxKernels) {
      found = std::find_if(
          list.begin(), list.end(), [&](const Counted& one) { return *one.shape == launch; });
    }
    if (found == list.end()) {
      list.push_back({&launch, 1});
    } else {
      found->launches += 1;
    }
  }
  return list;
}

}  // namespace

results::Attributes kernel_attributes(std::span<const KernelShape> launches) {
  if (launches.empty()) {
    return {};
  }
  std::set<std::string> names;  // each once: judging a name takes time
  for (const KernelShape& launch : launches) {
    names.insert(launch.name);
  }
  TensorCoreEvidence evidence;
  evidence.kernels.assign(names.begin(), names.end());
  results::Attributes result = tensor_core_attributes(evidence);
  const std::vector<Counted> list = listed(launches);
  nlohmann::json kernels = nlohmann::json::array();
  for (const Counted& one : std::span(list).first(std::min(list.size(), kMaxKernels))) {
    nlohmann::json kernel{{"name", one.shape->name.substr(0, kNameKept)},
                          {"grid", one.shape->grid},
                          {"block", one.shape->block},
                          {"registers", one.shape->registers},
                          {"shared_bytes", one.shape->static_shared + one.shape->dynamic_shared}};
    if (launches.size() > kMaxKernels) {
      kernel["launches"] = one.launches;
    }
    kernels.push_back(std::move(kernel));
  }
  result["kernels"] = kernels.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  result["kernel_launches"] = fmt::format("{}", launches.size());
  if (list.size() > kMaxKernels) {
    result["kernels_omitted"] = fmt::format("{}", list.size() - kMaxKernels);
  }
  return result;
}

}  // namespace plumb::cuda
