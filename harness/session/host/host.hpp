// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::session {

/// Returns the value of an environment variable. Absent: it is not set.
[[nodiscard]] std::optional<std::string> environment_variable(const char* name);

/// Returns $XDG_DATA_HOME/plumb or ~/.local/share/plumb. Absent: neither variable is set.
[[nodiscard]] std::optional<std::filesystem::path> known_data_folder();

/// Returns the folder below it for results that wait for a server. Absent: there is none.
[[nodiscard]] std::optional<std::filesystem::path> spool_folder();

/// Returns the same. Throws Error{kEnvironment} if neither variable is set.
[[nodiscard]] std::filesystem::path data_folder();

/// Returns $XDG_CACHE_HOME/plumb or ~/.cache/plumb: what may be deleted at any time, such as
/// builds. Throws Error{kEnvironment} if neither variable is set.
[[nodiscard]] std::filesystem::path cache_folder();

/// Returns $PLUMB_STORE, or else `sqlite:` and the path of the default store in the data folder.
[[nodiscard]] std::string default_store_url();

/// Returns the name of the user who runs this program, or "uid 1000" if the system knows none.
[[nodiscard]] std::string user_name();

/// Returns the folder of this executable, or the working folder if that is unknown.
[[nodiscard]] std::filesystem::path executable_folder();

/// Finds a suite by path, or by name in the data folder or the installation. Throws Error{kUser}
/// listing where it looked.
[[nodiscard]] std::filesystem::path find_suite(const std::string& name);

/// Folder for what a worker writes: the named one, or one that is removed again.
class RawFolder {
 public:
  /// Makes the folder. Empty name: one for temporary files. Throws Error{kEnvironment}.
  explicit RawFolder(const std::string& named);
  ~RawFolder();
  RawFolder(const RawFolder&) = delete;
  RawFolder& operator=(const RawFolder&) = delete;
  RawFolder(RawFolder&&) = delete;
  RawFolder& operator=(RawFolder&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  bool kept_;
  std::filesystem::path path_;
};

/// Description of a GPU that need not be present (docs/guides/preview-an-upgrade.md).
struct GpuProfile {
  std::string name;        ///< as the driver calls it
  std::string properties;  ///< JSON, as cuDNN takes it
  std::string file;
};

/// Reads a GPU profile by path, or by name ("H200") if it comes with the program. The JSON file has
/// the properties as cuDNN writes them on a real GPU, alone or under `properties`. Throws
/// Error{kUser} with the names of all profiles, or with what is missing or wrong in the file.
[[nodiscard]] GpuProfile read_gpu_profile(const std::string& name);

/// Choice of a stack's workers.
struct WorkerChoice {
  std::string stack = "default";
  int threads = 1;
  std::string device{};  ///< see worker::WorkerService::Setup
};

/// Returns the options to start the chosen workers. They are found relative to this program's
/// folder.
[[nodiscard]] worker::WorkerProcess::Options worker_options(const WorkerChoice& choice);

/// Reads what the machine says of itself: /proc and /sys below `root` ("/" but in tests), and
/// uname. Identity: cpu.model, cpu.count, memory (GiB, rounded up), virtualisation. Facts: kernel,
/// boot, microcode, governor, SMT, frequencies, caches, huge pages, load, and plumb's version,
/// commit, compiler and build type. What cannot be read is "unknown".
[[nodiscard]] results::Environment read_system(const std::filesystem::path& root = "/");

/// Returns the name of this host; "unknown" if it has none.
[[nodiscard]] std::string host_name();

/// Returns the name of what an environment was measured on: this host, and the identifier of its
/// GPU, if one was measured. Two GPUs of one host may differ in speed.
[[nodiscard]] std::string measuring_host(const results::Environment& environment);

/// Joins the system with what a worker said of its library and device. The thread count and the
/// version of the measurement method complete the identity for reuse
/// (docs/reference/measurement.md). The name of the stack is a fact.
[[nodiscard]] results::Environment join_environment(const results::Environment& system,
                                                    const results::Environment& worker,
                                                    int threads,
                                                    const std::string& stack);

}  // namespace plumb::session
