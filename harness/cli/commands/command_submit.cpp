// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/session/host/host.hpp"
#include "harness/stacks/built/bounded_program.hpp"
#include "harness/stacks/stack_fetch.hpp"
#include "harness/store/store.hpp"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

/// Array of Slurm tasks that share one run, and the job that reports it.
struct SlurmJob {
  std::string run_name;                    ///< by which the tasks join the run
  std::vector<std::string> run_command;    ///< of each task: `plumb run … --join NAME`
  std::vector<std::string> bound_command;  ///< of the report's job
  std::vector<std::string> report_command;
  std::string store_url;
  std::filesystem::path folder;  ///< absolute: scripts, logs and the report
  std::size_t tasks = 2;
  std::string gres;        ///< of a task, such as "gpu:h100:1"; empty: none
  std::size_t cpus = 1;    ///< of a task
  std::string partition;   ///< empty: Slurm's default
  std::string time_limit;  ///< as Slurm writes it; empty: the partition's
  std::string constraint;  ///< features that a node must have; empty: none
  bool exclusive = false;  ///< a task has its node alone
};

void check_slurm_word(const char* what, const std::string& value) {
  const bool good = std::all_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte < 0x7F && c != '"' && c != '\'' && c != '\\' && c != '%';
  });
  if (!good) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} '{}' cannot stand in a Slurm script: write printable ASCII without "
                            "blanks, quotes, backslashes and percent signs",
                            what,
                            value));
  }
}

/// Returns the directives that both scripts have.
std::string slurm_directives(const SlurmJob& job, const std::string& name, const std::string& log) {
  std::string text = fmt::format(
      "#!/bin/sh\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --chdir={}\n"
      "#SBATCH --output={}\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --requeue\n",
      name,
      job.folder.string(),
      log);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) {
      text += fmt::format("#SBATCH --{}={}\n", option, value);
    }
  };
  add("partition", job.partition);
  add("time", job.time_limit);
  return text;
}

/// Returns the line that names the store to plumb. The URL holds no password.
std::string store_line(const SlurmJob& job) {
  return fmt::format("export PLUMB_STORE={}\n", shell_quoted(job.store_url));
}

/// Throws Error{kUser} for a value that would break a directive: a line break, or a blank.
void check_slurm_job(const SlurmJob& job) {
  check_slurm_word("the name", job.run_name);
  check_slurm_word("the folder", job.folder.string());
  check_slurm_word("--gres", job.gres);
  check_slurm_word("--partition", job.partition);
  check_slurm_word("--time", job.time_limit);
  check_slurm_word("--constraint", job.constraint);
}

/// Returns the script of the array. Each task runs the same command, so one that Slurm requeues
/// joins the run again.
std::string array_script(const SlurmJob& job) {
  std::string text = slurm_directives(job, job.run_name, "task-%a.log");
  text += fmt::format("#SBATCH --array=0-{}\n", job.tasks - 1);
  text += fmt::format("#SBATCH --ntasks=1\n#SBATCH --cpus-per-task={}\n", job.cpus);
  if (!job.gres.empty()) {
    text += fmt::format("#SBATCH --gres={}\n", job.gres);
  }
  if (!job.constraint.empty()) {
    text += fmt::format("#SBATCH --constraint={}\n", job.constraint);
  }
  if (job.exclusive) {
    text += "#SBATCH --exclusive\n";
  }
  return text + store_line(job) + "exec " + shell_command(job.run_command) + "\n";
}

/// Returns the script of the job that runs when all tasks have ended, however they ended.
std::string report_script(const SlurmJob& job) {
  return slurm_directives(job, job.run_name + "-report", "report.log") +
         "#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=1\n" + store_line(job) +
         shell_command(job.bound_command) + " &&\nexec " + shell_command(job.report_command) + "\n";
}

struct SubmitOptions {
  SuiteChoice choice;
  std::string stack = "default";
  SlurmJob job;  ///< as far as options say it
  std::vector<std::string> run_options;
  bool wait = false;
  bool dry_run = false;
};

/// Runs a program of Slurm and returns what it prints. Throws Error{kEnvironment} with its words.
std::string run_slurm(const CommandContext& context,
                      const std::string& name,
                      const std::vector<std::string>& arguments) {
  std::string output;
  const stacks::ProgramEnd end = stacks::run_program(
      stacks::find_program(name,
                           "submit from a machine with Slurm's commands, or print the scripts with "
                           "--dry-run"),
      arguments,
      {.time = Seconds(120.0), .output = std::size_t{1} << 20},
      context.stop,
      [&](std::string_view text) { output += text; },
      [](Seconds) {});
  if (!end.problem.empty() && !end.stopped) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("{} {}: {}", name, end.problem, output.substr(0, 500)));
  }
  return output;
}

/// Submits a script and returns the number of its job.
std::string submit(const CommandContext& context,
                   const fs::path& script,
                   std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--parsable");
  arguments.push_back(script.string());
  const std::string answer = run_slurm(context, "sbatch", arguments);
  const std::string job = answer.substr(0, answer.find_first_of(";\n"));
  if (job.empty() ||
      !std::all_of(job.begin(), job.end(), [](unsigned char c) { return c >= '0' && c <= '9'; })) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("sbatch answered '{}', which is no number of a job", answer.substr(0, 200)));
  }
  return job;
}

SlurmJob make_job(const CommandContext& context, const SubmitOptions& options) {
  SlurmJob job = options.job;
  // The suite is read before anything waits in a queue.
  const suite::ResolvedSuite suite = chosen_suite(context.models, options.choice);
  std::string moment = to_text(current_time()).substr(0, 19);
  std::erase_if(moment, [](char c) { return c == '-' || c == ':'; });
  if (job.run_name.empty()) {
    job.run_name = suite.name + "-" + moment;
  }
  job.store_url = context.store_url();
  if (job.folder.empty()) {
    job.folder = "plumb-" + job.run_name;
  }
  job.folder = fs::absolute(job.folder).lexically_normal();
  const std::string plumb = fs::read_symlink("/proc/self/exe").string();
  job.run_command = {plumb, "run"};
  std::vector<std::string> words = words_of(options.choice);
  // A task works in the folder of its logs.
  if (!words.front().empty()) {
    words.front() = session::find_suite(words.front()).string();
    words.front() = fs::absolute(words.front()).string();
  } else {
    words.erase(words.begin());
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::error_code none;
    if (words[i - 1] == "--model" && fs::is_regular_file(words[i], none)) {
      words[i] = fs::absolute(words[i]).string();
    }
  }
  job.run_command.insert(job.run_command.end(), words.begin(), words.end());
  job.run_command.insert(
      job.run_command.end(),
      {"--stack",
       options.stack.find('/') == std::string::npos ? options.stack
                                                    : fs::absolute(options.stack).string(),
       "--join",
       job.run_name});
  if (job.cpus > 1) {
    job.run_command.insert(job.run_command.end(), {"--threads", std::to_string(job.cpus)});
  }
  job.run_command.insert(
      job.run_command.end(), options.run_options.begin(), options.run_options.end());
  job.bound_command = {plumb, "bound", job.run_name};
  job.report_command = {plumb, "report", job.run_name, "-o", "report.html"};
  check_slurm_job(job);
  return job;
}

/// Returns how much of a shared run is done, in words. Empty: no task has begun it.
std::string describe_progress(store::Store& store, const std::string& name) {
  std::map<int, store::SharedWork::Count> counts;
  try {
    counts = store.shared_work().count(store.find_run(name).header.id);
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kUser) {
      return {};
    }
    throw;
  }
  std::size_t total = 0;
  std::size_t done = 0;
  for (const auto& [stage, count] : counts) {
    total += count.total();
    done += count.done;
  }
  return fmt::format("{} of {} items are done", done, total);
}

/// Waits until the jobs have ended. Returns the run's state; absent: no task began it, or the user
/// stopped waiting.
std::optional<results::RunState> wait_for(const CommandContext& context,
                                          const SlurmJob& job,
                                          const std::vector<std::string>& jobs) {
  const auto store = store::open_store(job.store_url);
  std::string told;
  while (!context.stop.load()) {
    std::string queue;
    for (const std::string& each : jobs) {
      // squeue fails for a job that was forgotten since it ended.
      try {
        queue +=
            run_slurm(context, "squeue", {"--noheader", "--array", "--format=%T", "--jobs", each});
      } catch (const Error& error) {
        if (std::string_view(error.what()).find("Invalid job id") == std::string_view::npos) {
          throw;
        }
      }
    }
    const auto running = [&](std::string_view state) {
      std::size_t count = 0;
      for (std::size_t at = queue.find(state); at != std::string::npos;
           at = queue.find(state, at + 1)) {
        ++count;
      }
      return count;
    };
    const std::string progress = describe_progress(*store, job.run_name);
    const std::string line = fmt::format("{} running, {} pending{}{}",
                                         running("RUNNING"),
                                         running("PENDING"),
                                         progress.empty() ? "" : "; ",
                                         progress);
    if (line != told) {
      spdlog::info("{}", line);
      told = line;
    }
    if (queue.find_first_not_of(" \n") == std::string::npos) {
      return progress.empty() ? std::nullopt : std::optional(store->find_run(job.run_name).state);
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return std::nullopt;
}

void submit_slurm(CommandContext& context, const SubmitOptions& options) {
  const SlurmJob job = make_job(context, options);
  const std::string array = array_script(job);
  const std::string report = report_script(job);
  if (options.dry_run) {
    if (context.json) {
      std::cout << nlohmann::json{{"schema_version", 1},
                                  {"name", job.run_name},
                                  {"array_script", array},
                                  {"report_script", report}}
                       .dump(1)
                << '\n';
    } else {
      std::cout << array << "\n" << report;
    }
    return;
  }
  static_cast<void>(store::open_store(job.store_url)->shared_work());
  make_folder(job.folder);
  write_whole_file(job.folder / "array.sh", [&](std::ostream& out) { out << array; });
  write_whole_file(job.folder / "report.sh", [&](std::ostream& out) { out << report; });
  const std::string tasks = submit(context, job.folder / "array.sh", {});
  const std::string last =
      submit(context, job.folder / "report.sh", {"--dependency=afterany:" + tasks});
  if (!context.json) {
    std::cout << fmt::format("run {}: array {} of {} tasks, report {}; logs in {}\n",
                             job.run_name,
                             tasks,
                             job.tasks,
                             last,
                             job.folder.string());
  }
  std::optional<results::RunState> state;
  if (options.wait) {
    state = wait_for(context, job, {tasks, last});
    if (state != results::RunState::kFinished) {
      spdlog::error(
          "run {} is not finished: see the logs in '{}'", job.run_name, job.folder.string());
      context.exit_status = static_cast<int>(Error::Kind::kTryAgain);
    }
  }
  if (context.json) {
    nlohmann::json document{{"schema_version", 1},
                            {"name", job.run_name},
                            {"array_job", tasks},
                            {"report_job", last},
                            {"tasks", job.tasks},
                            {"folder", job.folder.string()}};
    document["state"] = state ? nlohmann::json(to_text(*state)) : nlohmann::json();
    std::cout << document.dump(1) << '\n';
  }
}

}  // namespace

void add_submit(CLI::App& app, CommandContext& context) {
  CLI::App* const submit =
      app.add_subcommand("submit", "have a cluster measure a suite, several machines one run");
  submit->require_subcommand(1);
  const auto options = std::make_shared<SubmitOptions>();
  CLI::App* const slurm = submit->add_subcommand(
      "slurm", "submit an array of tasks that share one run, and its report");
  add_suite_choice(*slurm, options->choice);
  add_stack_option(*slurm, options->stack);
  slurm->add_option(
      "--name", options->job.run_name, "name of the run; default: the suite and the time");
  slurm->add_option("--tasks", options->job.tasks, "tasks of the array")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000}))
      ->capture_default_str();
  slurm->add_option("--gres", options->job.gres, "what each task has alone, such as gpu:h100:1");
  slurm
      ->add_option(
          "--cpus", options->job.cpus, "processors of each task, and threads of its worker")
      ->check(CLI::Range(std::size_t{1}, std::size_t{4096}))
      ->capture_default_str();
  slurm->add_flag("--exclusive", options->job.exclusive, "each task has its node alone");
  slurm->add_option("--partition", options->job.partition, "partition; default: Slurm's");
  slurm->add_option("--constraint", options->job.constraint, "features that each node must have");
  slurm->add_option("--time", options->job.time_limit, "time limit of a task, as Slurm writes it");
  slurm->add_option("--folder",
                    options->job.folder,
                    "shared folder for scripts, logs and the report; default: plumb-NAME");
  slurm
      ->add_option("--run-option",
                   options->run_options,
                   "word that each task's plumb run gets too, such as --processes=3; may be "
                   "repeated")
      ->allow_extra_args(false);
  slurm->add_flag("--wait", options->wait, "wait for the report, and show how far the run is");
  slurm->add_flag("--dry-run", options->dry_run, "print both scripts and submit nothing");
  slurm->callback([&context, options] { submit_slurm(context, *options); });
}

}  // namespace plumb::cli
