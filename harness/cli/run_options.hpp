// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/baseline_check.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/session/host/model_export.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/stacks/built/build_cache.hpp"
#include "harness/suite/suite.hpp"

namespace CLI {
class App;
}

namespace plumb::cli {

/// Choice of what is measured: a suite, models of it, or models without a suite. Texts are as given
/// on the command line; empty: not given.
struct SuiteChoice {
  std::string suite{};  ///< or an .onnx file, which is a model without a suite
  std::vector<std::string> models{};
  std::vector<std::string> batches{};                        ///< of models without a suite
  std::vector<std::string> rebatches{};                      ///< likewise, and of what a file fixes
  std::vector<std::string> dtypes{};                         ///< of models without a suite
  std::vector<std::string> trainings{};                      ///< likewise
  std::vector<std::string> losses{};                         ///< of `trainings`, at most one
  std::vector<std::string> frozen{};                         ///< of `trainings`
  std::vector<std::string> dims{};                           ///< likewise, each NAME=VALUES
  std::map<std::string, session::ExportedModel> exported{};  ///< of `models`, by their texts
};

/// Adds what sets batches, types and dimensions of models without a suite.
void add_shape_choice(CLI::App& command, SuiteChoice& choice);

/// Adds --model, and what sets the models' batches, types and dimensions.
void add_model_choice(CLI::App& command, SuiteChoice& choice);

/// Adds SUITE and what add_model_choice() adds.
void add_suite_choice(CLI::App& command, SuiteChoice& choice);

/// Adds --batch and --dtype, each with one value, and --dim of the only model of a choice.
void add_single_shape_choice(CLI::App& command, SuiteChoice& choice);

/// Exports the models of a choice that code of the user builds (session::export_model()), with one
/// of the stacks; none: the default. Throws Error{kUser} also for batches and dimensions: the code
/// fixes them.
void export_models(SuiteChoice& choice,
                   const std::vector<std::string>& stacks,
                   const std::atomic<bool>& stop);

/// Makes a suite of models alone: names of the zoo, or paths relative to the working folder. The
/// suite has their names, so that each has a baseline of its own. Throws Error{kUser} for a value
/// that its option does not take.
[[nodiscard]] suite::SuiteSpec suite_of_models(const SuiteChoice& choice);

/// Reads the chosen suite, or makes one of the chosen models. Throws Error{kUser} if the choice is
/// empty or contradicts itself, or what it names cannot be read.
[[nodiscard]] suite::ResolvedSuite chosen_suite(const session::ModelSource& models,
                                                const SuiteChoice& choice);

/// Returns the only model of a choice. Throws Error{kUser} as chosen_suite() does, or if there are
/// several. `subject` is what is made of it, such as "a trace".
[[nodiscard]] suite::ResolvedSuite::Model chosen_model(const session::ModelSource& models,
                                                       const SuiteChoice& choice,
                                                       std::string_view subject);

/// Returns the choice as words of a command. The first is the suite, empty if there is none.
[[nodiscard]] std::vector<std::string> words_of(const SuiteChoice& choice);

/// Options of `plumb run`. Texts are as given on the command line; empty: not given.
struct RunOptions {
  SuiteChoice choice;
  std::vector<std::string> stacks;
  session::SuiteRun::Options suite_run;  ///< suite_run_options() completes them
  stacks::BuildCache::Recipe build;  ///< of the stack, which is built first; no command: it is not
  results::RunLabels built;          ///< labels of what was built
  std::string reuse;
  std::string budget;
  std::string cache;
  std::string only;
  std::vector<std::string> modes;
  LoadOptions loads;
  BaselineCheck::Options baseline;
  std::string profile = "pass";       ///< off, pass or always
  std::string join;                   ///< name of a run that several processes share
  std::string lease = "30s";          ///< of this process in it
  std::vector<std::string> labels;    ///< NAME=VALUE
  std::vector<std::string> layers;    ///< patterns of those to measure; none: all
  std::vector<std::string> excluded;  ///< patterns of those to leave out

  /// Returns whether layers alone are measured, and no model end to end.
  [[nodiscard]] bool is_of_layers() const;
};

/// Adds --label, which may be repeated.
void add_label_option(CLI::App& command, std::vector<std::string>& labels);

/// Returns the labels of a run: those of the job that the program is part of, changed by those of
/// what was built, then by those given. Throws Error{kUser}.
[[nodiscard]] results::RunLabels labels_of_run(const std::vector<std::string>& given,
                                               const results::RunLabels& built = {});

/// Reads the suite that the options choose (chosen_suite()). What the options override is applied.
/// Throws Error{kUser} for what they choose or override wrongly.
[[nodiscard]] suite::ResolvedSuite requested_suite(const session::ModelSource& models,
                                                   const RunOptions& options);

/// Returns how the suite is measured on one of the stacks. Throws Error{kUser} for a mode that is
/// none, and for options that exclude each other.
[[nodiscard]] session::SuiteRun::Options suite_run_options(const RunOptions& options,
                                                           const std::string& stack);

}  // namespace plumb::cli
