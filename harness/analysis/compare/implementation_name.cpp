// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/implementation_name.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/results/labels/variant_id.hpp"

namespace plumb::analysis {
namespace {

/// Parts of a name and the families that they indicate. The first part that fits counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kFamilies{
    {{"wino", "winograd"},
     {"ref", "reference"},
     {"brg", "brgemm"},
     {"1x1", "jit_1x1"},
     {"_dw", "jit_depthwise"},
     {"gemm", "gemm"},
     {"jit", "jit"},
     {"simple", "simple"},
     {"plumb", "plumb"}}};
constexpr std::string_view kInstructionSets[] = {"avx", "sse", "amx", "sve", "asimd"};

}  // namespace

ImplementationName implementation_name(std::string_view variant) {
  const std::string_view named = results::VariantId(variant).implementation();
  const std::string_view name = named.empty() ? variant : named;
  ImplementationName result;
  std::string_view kernel = name;
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) {
    const std::string_view last = name.substr(colon + 1);
    if (std::any_of(std::begin(kInstructionSets), std::end(kInstructionSets), [&](auto set) {
          return last.starts_with(set);
        })) {
      result.instruction_set = last;
      kernel = name.substr(0, colon);
    }
  }
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const auto& entry) {
    return kernel.find(entry.first) != std::string_view::npos;
  });
  result.family = family != kFamilies.end() ? family->second : kernel;
  return result;
}

}  // namespace plumb::analysis
