// SPDX-License-Identifier: Apache-2.0
#include "harness/session/submit/slurm_job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"

namespace plumb::session {
namespace {

void check(const char* what, const std::string& value) {
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
std::string head(const SlurmJob& job, const std::string& name, const std::string& log) {
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

}  // namespace

void check_slurm_job(const SlurmJob& job) {
  check("the name", job.run_name);
  check("the folder", job.folder.string());
  check("--gres", job.gres);
  check("--partition", job.partition);
  check("--time", job.time_limit);
  check("--constraint", job.constraint);
}

std::string array_script(const SlurmJob& job) {
  std::string text = head(job, job.run_name, "task-%a.log");
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

std::string report_script(const SlurmJob& job) {
  return head(job, job.run_name + "-report", "report.log") +
         "#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=1\n" + store_line(job) +
         shell_command(job.bound_command) + " &&\nexec " + shell_command(job.report_command) + "\n";
}

}  // namespace plumb::session
