// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/named_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "harness/base/error.hpp"

namespace plumb::session {
namespace {

constexpr std::string_view kAllBelow = "/*";

}  // namespace

bool names_several_runs(const std::string& name) {
  return name.find(',') != std::string::npos || name.ends_with(kAllBelow);
}

std::vector<results::RunRecord> find_named_runs(const store::Store& store,
                                                const std::string& name) {
  std::vector<results::RunRecord> found;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(',', begin), name.size());
    const std::string one = name.substr(begin, end - begin);
    begin = end + 1;
    if (!one.ends_with(kAllBelow)) {
      found.push_back(store.find_run(one));
      continue;
    }
    const std::string prefix = one.substr(0, one.size() - 1);
    const std::size_t before = found.size();
    for (const results::RunRecord& run : store.runs()) {
      if (std::any_of(run.tags.begin(), run.tags.end(), [&](const std::string& tag) {
            return tag.starts_with(prefix);
          })) {
        found.push_back(store.find_run(run.header.id));
      }
    }
    if (found.size() == before) {
      throw Error(Error::Kind::kUser,
                  fmt::format("no run has a tag that begins with '{}'", prefix));
    }
  }
  std::set<results::RunId> seen;
  std::erase_if(found,
                [&](const results::RunRecord& run) { return !seen.insert(run.header.id).second; });
  return found;
}

}  // namespace plumb::session
