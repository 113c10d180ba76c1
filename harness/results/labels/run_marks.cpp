// SPDX-License-Identifier: Apache-2.0
#include "harness/results/labels/run_marks.hpp"

namespace plumb::results {
namespace {

constexpr const char* kMethod = "method";

}  // namespace

bool has_mark(const Environment& environment, std::string_view mark) {
  const auto method = environment.identity.find(kMethod);
  return method != environment.identity.end() && method->second.ends_with(mark);
}

void add_mark(std::string_view mark, Environment& environment) {
  environment.identity[kMethod] += mark;
}

Environment without_mark(Environment environment, std::string_view mark) {
  if (has_mark(environment, mark)) {
    std::string& method = environment.identity.at(kMethod);
    method.resize(method.size() - mark.size());
  }
  return environment;
}

}  // namespace plumb::results
