// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <exception>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/progress_line.hpp"
#include "harness/cli/zoo_models.hpp"
#include "harness/session/host/build_facts.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/worker/client/worker_process.hpp"

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

int run(int argc, char** argv) {
  using namespace plumb;
  CLI::App app(
      "Plumbline hangs a lower bound beside every deep-learning model, and shows how far a library "
      "is from it.",
      "plumb");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("plumb {} ({})", kPlumbVersion, kPlumbCommit));
  app.fallthrough();
  app.footer(
      "Exit status: 0 done, 1 a regression or a failed gate, 2 wrong input, 3 the environment "
      "lacks something,\n"
      "4 refused to compare unlike with unlike, 75 try again, 130/143 interrupted with the partial "
      "run saved.");

  const ZooModels models;
  ProgressLine progress;
  CommandContext context{.version = kPlumbVersion,
                         .store_url = "",
                         .json = false,
                         .stop = stop_wanted,
                         .models = models,
                         .progress = progress};
  app.add_option("--store",
                 context.store_url,
                 "where results are kept: sqlite:PATH (default: the user's data folder)")
      ->envname("PLUMB_STORE");
  app.add_flag("--json", context.json, "print one JSON document on stdout");
  app.parse_complete_callback([&] {
    if (context.store_url.empty()) {
      context.store_url = default_store_url();
    }
  });

  for (const auto add :
       {add_doctor,  add_env,    add_model,     add_suite,   add_run,      add_runs,    add_bound,
        add_whatif,  add_layer,  add_calibrate, add_compare, add_baseline, add_qualify, add_bisect,
        add_detect,  add_import, add_report,    add_serve,   add_push,     add_export,  add_stacks,
        add_preview, add_store,  add_regret,    add_explain}) {
    add(app, context);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Error::Kind::kUser);
  }
  return stop_signal != 0 && context.exit_status == 0 ? 128 + stop_signal : context.exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("plumb"));
  spdlog::set_pattern("%^%l%$: %v");
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // A write beyond `ulimit -f` fails like one to a full disk.
  try {
    return run(argc, argv);
  } catch (const plumb::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.exit_status();
  } catch (const plumb::WorkerDied& death) {
    const plumb::Error error = plumb::lost_worker(death, "it was asked");
    fmt::print(stderr, "error: {}\n", error.what());
    return error.exit_status();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory: close other programs, or measure smaller models\n");
    return static_cast<int>(plumb::Error::Kind::kEnvironment);
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}; please report this bug\n", error.what());
    return static_cast<int>(plumb::Error::Kind::kInternal);
  }
}
