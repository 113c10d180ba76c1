// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <memory>
#include <span>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/limited_call.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/session/host/build_facts.hpp"
#include "harness/session/zoo/zoo_models.hpp"
#include "harness/terminal/terminal.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::cli {
namespace {

std::atomic<bool> stop_wanted{false};
volatile std::sig_atomic_t stop_signal = 0;

/// Asks the run to end after the key in progress. A second signal, INT or TERM, ends the program at
/// once: what it is in may never end.
void on_signal(int signal) {
  if (stop_signal != 0) {
    ::_exit(128 + signal);
  }
  stop_signal = signal;
  stop_wanted.store(true);
}

constexpr std::chrono::seconds kCallLimit{20};

int run(int argc, char** argv, terminal::StandardOutput& output) {
  CLI::App app(
      "Plumbline computes a lower bound on the latency of each deep-learning model, and shows how "
      "far a library is from it.",
      "plumb");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("plumb {} ({})", session::kPlumbVersion, session::kPlumbCommit));
  app.fallthrough();
  app.footer(
      "Exit status: 0 done, 1 a regression or a failed gate, 2 wrong input, 3 the environment "
      "lacks something,\n"
      "4 refused to compare unlike with unlike, 75 try again, 130/143 interrupted with the partial "
      "run saved.");

  const session::ModelSource& models = session::zoo_models();
  const std::unique_ptr<session::ProgressDisplay> progress = terminal::progress_line();
  CommandContext context{.version = session::kPlumbVersion,
                         .named_store = "",
                         .commit_url = "",
                         .json = false,
                         .stop = stop_wanted,
                         .models = models,
                         .progress = *progress,
                         .output = output};
  app.add_option("--store",
                 context.named_store,
                 "where results are kept: sqlite:PATH (default: the user's data folder) or "
                 "postgresql://USER@HOST/DATABASE")
      ->envname("PLUMB_STORE");
  app.add_option("--commit-url",
                 context.commit_url,
                 "address of a commit, which reports and pages link: "
                 "https://example.org/team/repo/commit/{commit}")
      ->envname("PLUMB_COMMIT_URL");
  app.add_flag("--json", context.json, "print one JSON document on stdout");
  app.parse_complete_callback([&] {
    if (context.json) {
      output.pass_bytes();
    }
  });

  for (const auto add :
       {add_doctor,   add_env,     add_model,   add_suite,     add_run,     add_runs,
        add_bound,    add_whatif,  add_layer,   add_calibrate, add_compare, add_comment,
        add_baseline, add_qualify, add_bisect,  add_detect,    add_triage,  add_issue,
        add_import,   add_report,  add_serve,   add_push,      add_export,  add_stacks,
        add_preview,  add_store,   add_regret,  add_matrix,    add_explain, add_alternate,
        add_trace,    add_submit,  add_profile, add_training}) {
    add(app, context);
  }
  check_values(app);
  try {
    refuse_empty_values(app, std::span(argv, static_cast<std::size_t>(argc)));
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    terminal::say(error.what());
    terminal::say("Run with --help for more information.");
    return static_cast<int>(Error::Kind::kUser);
  }
  return stop_signal != 0 && context.exit_status == 0 ? 128 + stop_signal : context.exit_status;
}

/// Runs the program and says what ended it. Returns the exit status.
int guarded_run(int argc, char** argv, terminal::StandardOutput& output) {
  try {
    return run(argc, argv, output);
  } catch (const Error& error) {
    terminal::say(fmt::format("error: {}", error.what()));
    return error.exit_status();
  } catch (const worker::WorkerDied& death) {
    const Error error = worker::lost_worker(death, "it was asked");
    terminal::say(fmt::format("error: {}", error.what()));
    return error.exit_status();
  } catch (const std::bad_alloc&) {
    terminal::say("error: out of memory: close other programs, or measure smaller models");
    return static_cast<int>(Error::Kind::kEnvironment);
  } catch (const std::exception& error) {
    terminal::say(fmt::format("internal error: {}; please report this bug", error.what()));
    return static_cast<int>(Error::Kind::kInternal);
  }
}

/// Writes what is left of standard output. Returns the exit status: that of the command, unless it
/// was 0 and its output is lost. Whoever closes a pipe, such as `head`, wants no more of it.
int finish_output(terminal::StandardOutput& output, int status) {
  const int fault = output.finish();
  if (fault == 0 || fault == EPIPE) {
    return status;
  }
  terminal::say(fmt::format("error: standard output could not be written: {}",
                            std::generic_category().message(fault)));
  return status == 0 ? static_cast<int>(Error::Kind::kEnvironment) : status;
}

}  // namespace
}  // namespace plumb::cli

int main(int argc, char** argv) {
  plumb::terminal::hold_standard_descriptors();
  plumb::terminal::log_to_terminal();
  plumb::limit_calls(plumb::cli::kCallLimit);
  std::signal(SIGINT, plumb::cli::on_signal);
  std::signal(SIGTERM, plumb::cli::on_signal);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // A write beyond `ulimit -f` fails like one to a full disk.
  plumb::terminal::StandardOutput output;
  return plumb::cli::finish_output(output, plumb::cli::guarded_run(argc, argv, output));
}
