// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/symbols/code_names.hpp"

#include <algorithm>
#include <map>

namespace plumb::importers {

results::CodeNames read_code_names(const results::SampledProfile& profile,
                                   const std::vector<std::filesystem::path>& dumps) {
  CodeFinder finder(profile.mappings, dumps);
  return read_code_names(profile, finder);
}

results::CodeNames read_code_names(const results::SampledProfile& profile, CodeFinder& finder) {
  results::CodeNames names;
  std::vector<std::uint64_t> addresses;
  addresses.reserve(profile.samples.size());
  for (const results::AddressSample& sample : profile.samples) {
    addresses.push_back(sample.address);
  }
  for (const results::CallChain& chain : profile.chains) {
    for (const std::uint64_t address : chain) {
      addresses.push_back(address - 1);  // a call may be the last instruction of its function
    }
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::map<results::ProfiledFunction, std::uint32_t> numbers;
  for (const std::uint64_t address : addresses) {
    const auto [place, added] = numbers.try_emplace(
        finder.find(address).function, static_cast<std::uint32_t>(names.functions.size()));
    if (added) {
      names.functions.push_back(place->first);
    }
    names.addresses.emplace_back(address, place->second);
  }
  names.problems = finder.problems();
  if (!finder.has_dumps() && numbers.contains({"", results::kGeneratedImage})) {
    names.problems.emplace_back("the library wrote no names of the code that it made at run time");
  }
  return names;
}

}  // namespace plumb::importers
