// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace plumb::session {

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

/// Throws Error{kUser} for a value that would break a directive: a line break, or a blank.
void check_slurm_job(const SlurmJob& job);

/// Returns the script of the array. Each task runs the same command, so one that Slurm requeues
/// joins the run again.
[[nodiscard]] std::string array_script(const SlurmJob& job);

/// Returns the script of the job that runs when all tasks have ended, however they ended.
[[nodiscard]] std::string report_script(const SlurmJob& job);

}  // namespace plumb::session
