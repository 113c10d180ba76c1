// SPDX-License-Identifier: Apache-2.0
#include "harness/suite/extent_range.hpp"

#include <fmt/format.h>

#include <charconv>

#include "harness/base/error.hpp"

namespace plumb::suite {

std::vector<std::int64_t> expand(const ExtentRange& range, std::string_view name) {
  const std::string& step = range.step;
  std::int64_t amount = 0;
  const char* const end = step.data() + step.size();
  const bool times = step.starts_with('x');
  const bool valid = (times || step.starts_with('+')) && step.size() > 1 &&
                     std::from_chars(step.data() + 1, end, amount).ptr == end &&
                     amount >= (times ? 2 : 1);
  if (!valid) {
    throw Error(Error::Kind::kUser,
                fmt::format("step '{}' of {} must be x and a factor of at least 2, or + and an "
                            "increment of at least 1, such as \"x2\" or \"+64\"",
                            step.substr(0, 32),
                            name));
  }
  std::vector<std::int64_t> values;
  for (std::int64_t value = range.from;;) {
    values.push_back(value);
    if (values.size() > kMaxSuiteEntries) {
      throw Error(Error::Kind::kUser,
                  fmt::format("the suite expands to more than {} entries: narrow a range or split "
                              "it",
                              kMaxSuiteEntries));
    }
    const bool last = times ? value > range.to / amount : amount > range.to - value;
    if (last) {
      return values;
    }
    value = times ? value * amount : value + amount;
  }
}

}  // namespace plumb::suite
