// SPDX-License-Identifier: Apache-2.0
//
// A library with a few symbols, which the fuzzer of symbols starts from.
extern "C" int exported_function(int value) {
  return value + 1;
}

namespace {

[[gnu::used]] int hidden_function(int value) {
  return value - 1;
}

}  // namespace
