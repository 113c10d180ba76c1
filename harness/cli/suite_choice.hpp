// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/session/work/model_source.hpp"
#include "harness/suite/suite.hpp"

namespace CLI {
class App;
}

namespace plumb {

/// Choice of what is measured: a suite, models of it, or models without a suite. Texts are as given
/// on the command line; empty: not given.
struct SuiteChoice {
  std::string suite;
  std::vector<std::string> models;
  std::vector<std::string> batches;    ///< of models without a suite
  std::vector<std::string> rebatches;  ///< likewise, and of what a file fixes
  std::vector<std::string> dtypes;     ///< of models without a suite
  std::vector<std::string> dims;       ///< likewise, each NAME=VALUES
};

/// Adds SUITE, --model and what sets the models' batches, types and dimensions.
void add_suite_choice(CLI::App& command, SuiteChoice& choice);

/// Makes a suite of models alone: names of the zoo, or paths relative to the working folder. The
/// suite has their names, so that each has a baseline of its own. Throws Error{kUser} for a value
/// that its option does not take.
[[nodiscard]] SuiteSpec suite_of_models(const SuiteChoice& choice);

/// Reads the chosen suite, or makes one of the chosen models. Throws Error{kUser} if the choice is
/// empty or contradicts itself, or what it names cannot be read.
[[nodiscard]] ResolvedSuite chosen_suite(const ModelSource& models, const SuiteChoice& choice);

}  // namespace plumb
