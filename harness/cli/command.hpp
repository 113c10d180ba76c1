// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "harness/results/labels/run_labels.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/work/session_context.hpp"
#include "reporting/content/run/documents.hpp"

namespace CLI {
class App;
}

namespace plumb::terminal {
class StandardOutput;
}

namespace plumb::cli {

/// Context that all commands share: the global options and the user's request to stop.
struct CommandContext {
  std::string version;                 ///< of this program
  std::string named_store;             ///< `--store` or PLUMB_STORE; empty: the default
  std::string commit_url;              ///< `--commit-url` or PLUMB_COMMIT_URL; empty: none
  bool json = false;                   ///< one JSON document on stdout instead of text
  const std::atomic<bool>& stop;       ///< set by Ctrl-C or TERM
  const session::ModelSource& models;  ///< built in
  session::ProgressDisplay& progress;
  terminal::StandardOutput& output;  ///< behind std::cout
  int exit_status = 0;               ///< of the command that ran

  /// Returns where the store is. Throws Error{kEnvironment} if nothing says where.
  [[nodiscard]] std::string store_url() const {
    return named_store.empty() ? session::default_store_url() : named_store;
  }

  /// Returns how to open a store for runs: what is written while its server is away waits.
  [[nodiscard]] static store::Store::Access for_runs() {
    store::Store::Access access;
    access.spool = session::spool_folder();
    return access;
  }

  /// Returns the addresses of commits. Throws Error{kUser} if the template is none.
  [[nodiscard]] results::CommitLink commits() const {
    return commit_url.empty() ? results::CommitLink() : results::CommitLink(commit_url);
  }

  /// Returns how results are printed.
  [[nodiscard]] reporting::OutputMode output_mode() const {
    return json ? reporting::OutputMode::kJson : reporting::OutputMode::kText;
  }

  [[nodiscard]] session::SessionContext session(store::Store& store) const {
    return {store, models, stop, progress};
  }
};

/// Adds a command with its options to the program. Commands that read alike share a file, such as
/// bound, whatif and report (command_analysis.cpp).
void add_baseline(CLI::App& app, CommandContext& context);
void add_bisect(CLI::App& app, CommandContext& context);
void add_calibrate(CLI::App& app, CommandContext& context);
void add_comment(CLI::App& app, CommandContext& context);
void add_compare(CLI::App& app, CommandContext& context);
void add_detect(CLI::App& app, CommandContext& context);
void add_doctor(CLI::App& app, CommandContext& context);
void add_env(CLI::App& app, CommandContext& context);
void add_explain(CLI::App& app, CommandContext& context);
void add_matrix(CLI::App& app, CommandContext& context);
void add_model(CLI::App& app, CommandContext& context);
void add_preview(CLI::App& app, CommandContext& context);
void add_profile(CLI::App& app, CommandContext& context);
void add_push(CLI::App& app, CommandContext& context);
void add_qualify(CLI::App& app, CommandContext& context);
void add_regret(CLI::App& app, CommandContext& context);
void add_run(CLI::App& app, CommandContext& context);
void add_runs(CLI::App& app, CommandContext& context);
void add_bound(CLI::App& app, CommandContext& context);
void add_whatif(CLI::App& app, CommandContext& context);
void add_export(CLI::App& app, CommandContext& context);
void add_import(CLI::App& app, CommandContext& context);
void add_issue(CLI::App& app, CommandContext& context);
void add_layer(CLI::App& app, CommandContext& context);
void add_report(CLI::App& app, CommandContext& context);
void add_stacks(CLI::App& app, CommandContext& context);
void add_store(CLI::App& app, CommandContext& context);
void add_serve(CLI::App& app, CommandContext& context);
void add_submit(CLI::App& app, CommandContext& context);
void add_suite(CLI::App& app, CommandContext& context);
void add_alternate(CLI::App& app, CommandContext& context);
void add_training(CLI::App& app, CommandContext& context);
void add_trace(CLI::App& app, CommandContext& context);
void add_triage(CLI::App& app, CommandContext& context);

}  // namespace plumb::cli
