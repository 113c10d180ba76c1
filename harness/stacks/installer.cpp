// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string_view>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/stacks/stack_fetch.hpp"
#include "harness/worker/client/child_process.hpp"

namespace plumb::stacks {
namespace {

constexpr std::size_t kLogLines = 12;  // of a failed installer, shown

std::vector<std::string> surroundings() {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
  }
  return result;
}

/// Passes a program's output to `log` line by line, and returns the last kLogLines lines.
std::vector<std::string> read_lines(const FileDescriptor& output, const LineSink& log) {
  std::vector<std::string> last;
  std::string line;
  const auto finish_line = [&] {
    log(line);
    last.push_back(std::exchange(line, {}));
    if (last.size() > kLogLines) {
      last.erase(last.begin());
    }
  };
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t got = ::read(output.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    for (ssize_t i = 0; i < got; ++i) {
      if (piece[static_cast<std::size_t>(i)] == '\n') {
        finish_line();
      } else {
        line += piece[static_cast<std::size_t>(i)];
      }
    }
  }
  if (!line.empty()) {
    finish_line();
  }
  return last;
}

}  // namespace

std::string find_program(const std::string& name, const std::string& how_to_get) {
  const char* const path = std::getenv("PATH");
  // The distribution's programs come first: its python3 has venv if python3-venv is installed.
  const std::string folders = std::string("/usr/bin:") + (path == nullptr ? "/bin" : path);
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    std::string candidate = folders.substr(begin, end - begin) + '/' + name;
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  throw Error(Error::Kind::kEnvironment, fmt::format("there is no {}: {}", name, how_to_get));
}

void run_installer(const std::string& program,
                   const std::vector<std::string>& arguments,
                   const LineSink& log,
                   Error::Kind kind,
                   const std::string& what) {
  worker::ChildProcess child(program, arguments, surroundings());
  const FileDescriptor output = child.take_log();
  const std::vector<std::string> last = read_lines(output, log);
  const auto status = child.wait(Seconds(10.0));
  if (!status || *status != 0) {
    throw Error(kind, fmt::format("{}: {}", what, fmt::join(last, "; ")));
  }
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
constexpr const char* kHowToGet = "`--debian` works on Debian, with apt";

/// An apt with its own state and cache. It reads only the mirror's address from the machine's apt,
/// and writes nothing there.
class PrivateApt {
 public:
  PrivateApt(std::string release, fs::path folder, const LineSink& log)
      : release_(std::move(release)), folder_(std::move(folder)), log_(log) {
    for (const char* part : {"lists/partial", "cache/archives/partial"}) {
      fs::create_directories(folder_ / part);
    }
    std::ofstream(folder_ / "status").close();
    std::ofstream sources(folder_ / "release.sources");
    sources << fmt::format(
        "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\n", mirror(), release_);
    if (fs::exists(kKeyring)) {
      sources << "Signed-By: " << kKeyring << '\n';
    }
  }

  void update() const {
    run("apt-get",
        {"update"},
        fmt::format("cannot read the package list of Debian's release '{}': check that it exists "
                    "and that the mirror can be reached",
                    release_));
  }

  /// Downloads packages with their dependencies, and returns the files.
  [[nodiscard]] std::vector<fs::path> download(const std::vector<std::string>& packages) const {
    std::vector<std::string> arguments{"install", "--yes", "--download-only"};
    for (const std::string& package : packages) {
      const std::size_t equals = package.find("==");
      arguments.push_back(package.substr(0, equals) + package.substr(equals + 1));
    }
    run("apt-get",
        arguments,
        fmt::format("could not fetch {} of Debian's release '{}'; available versions: {}",
                    fmt::join(packages, ", "),
                    release_,
                    versions(packages)));
    std::vector<fs::path> files;
    for (const fs::directory_entry& file : fs::directory_iterator(folder_ / "cache/archives")) {
      if (file.path().extension() == ".deb") {
        files.push_back(file.path());
      }
    }
    return files;
  }

 private:
  /// Returns the first mirror that this machine's apt names and that is not for security updates.
  [[nodiscard]] static std::string mirror() {
    std::vector<std::string> addresses;
    run_installer(
        find_program("apt-get", kHowToGet),
        {"indextargets", "--no-release-info", "--format", "$(REPO_URI)", "Created-By: Packages"},
        [&](const std::string& line) { addresses.push_back(line); },
        Error::Kind::kEnvironment,
        "apt-get cannot say where its packages come from");
    const std::regex address(R"([a-z][a-z+]*:/[!-~]*)");
    for (const std::string& line : addresses) {
      if (std::regex_match(line, address) && line.find("security") == std::string::npos) {
        // apt would use a package behind file: in place. With copy: it comes into the cache.
        return line.rfind("file:", 0) == 0 ? "copy:" + line.substr(5) : line;
      }
    }
    throw Error(Error::Kind::kEnvironment,
                fmt::format("apt does not name a mirror of Debian's packages: {}", kHowToGet));
  }

  [[nodiscard]] std::vector<std::string> options() const {
    const std::string state = folder_.string();
    std::vector<std::string> result;
    for (const std::string& option : {"Dir::Etc::sourcelist=" + state + "/release.sources",
                                      std::string("Dir::Etc::sourceparts=/dev/null"),
                                      "Dir::State=" + state,
                                      "Dir::State::Lists=" + state + "/lists",
                                      "Dir::State::status=" + state + "/status",
                                      "Dir::Cache=" + state + "/cache",
                                      std::string("Acquire::Languages=none"),
                                      std::string("APT::Install-Recommends=false"),
                                      std::string("APT::Sandbox::User=")}) {
      result.insert(result.end(), {"-o", option});
    }
    return result;
  }

  void run(const std::string& program,
           const std::vector<std::string>& arguments,
           const std::string& what) const {
    std::vector<std::string> all = options();
    all.insert(all.end(), arguments.begin(), arguments.end());
    run_installer(find_program(program, kHowToGet), all, log_, Error::Kind::kUser, what);
  }

  /// Returns, as text for a message, the versions of some packages in the release.
  [[nodiscard]] std::string versions(const std::vector<std::string>& packages) const {
    std::vector<std::string> found;
    std::vector<std::string> all = options();
    all.emplace_back("madison");
    for (const std::string& package : packages) {
      all.push_back(package.substr(0, package.find("==")));
    }
    const std::regex row(R"( *(\S+) \| *(\S+) \|.*)");
    const auto keep = [&](const std::string& line) {
      std::smatch parts;
      if (std::regex_match(line, parts, row)) {
        found.push_back(parts[1].str() + "==" + parts[2].str());
      }
    };
    run_installer(find_program("apt-cache", kHowToGet),
                  all,
                  keep,
                  Error::Kind::kEnvironment,
                  "apt-cache cannot list versions");
    return found.empty() ? "none with this name" : fmt::format("{}", fmt::join(found, ", "));
  }

  std::string release_;
  fs::path folder_;
  const LineSink& log_;
};

}  // namespace

std::vector<std::string> unpack_debian_packages(const std::string& release,
                                                const std::vector<std::string>& packages,
                                                const FetchRequest::Target& target,
                                                const LineSink& log) {
  const PrivateApt apt(release, target.scratch / "apt", log);
  apt.update();
  std::vector<std::string> result;
  for (const fs::path& file : apt.download(packages)) {
    result.push_back(sha256_of_file(file) + " " + file.filename().string());
    run_installer(
        find_program("dpkg-deb", kHowToGet),
        {"--extract", file.string(), target.content.string()},
        log,
        Error::Kind::kEnvironment,
        fmt::format("cannot unpack '{}': check the space on the disk", file.filename().string()));
  }
  return result;
}

namespace {

constexpr std::string_view kName = "pytorch==";
constexpr std::string_view kProject = "torch==";

}  // namespace

std::vector<std::string> wheel_requirements(std::vector<std::string> packages) {
  bool with_torch = false;
  for (std::string& package : packages) {
    if (package.starts_with(kName)) {
      package.replace(0, kName.size(), kProject);
    }
    with_torch = with_torch || package.starts_with(kProject);
  }
  if (with_torch) {
    packages.insert(packages.end(), {"numpy", "onnx", "onnxscript", "protobuf"});
  }
  return packages;
}

std::map<std::string, std::string> python_variables(const std::filesystem::path& folder) {
  return {{"PLUMB_PYTHON",
           find_program("python3", "install python3, with which the worker is started")},
          {"PYTHONPATH", folder.string()}};
}

std::vector<std::string> unpack_wheels(const std::vector<std::string>& packages,
                                       bool dependencies,
                                       const FetchRequest::Target& target,
                                       const LineSink& log) {
  const auto quiet = [](const std::string&) {};
  const fs::path venv = target.scratch / "venv";
  const fs::path downloads = target.scratch / "wheels";
  run_installer(find_program("python3", "install python3 and python3-venv, which fetch the wheels"),
                {"-m", "venv", venv.string()},
                quiet,
                Error::Kind::kEnvironment,
                "python3 cannot make the environment that fetches wheels: install python3-venv");
  const std::string python = (venv / "bin/python3").string();
  std::vector<std::string> arguments{"-m",
                                     "pip",
                                     "--disable-pip-version-check",
                                     "--no-input",
                                     "download",
                                     "--progress-bar=off",
                                     "--only-binary=:all:",
                                     "--dest",
                                     downloads.string()};
  if (!dependencies) {
    arguments.emplace_back("--no-deps");
  }
  arguments.insert(arguments.end(), packages.begin(), packages.end());
  run_installer(
      python,
      arguments,
      log,
      Error::Kind::kUser,
      fmt::format(
          "could not fetch {}: check that the version exists and has a wheel for this machine",
          fmt::join(packages, ", ")));
  std::vector<std::string> wheels;
  for (const fs::directory_entry& wheel : fs::directory_iterator(downloads)) {
    wheels.push_back(sha256_of_file(wheel.path()) + " " + wheel.path().filename().string());
    run_installer(python,
                  {"-m", "zipfile", "-e", wheel.path().string(), target.content.string()},
                  quiet,
                  Error::Kind::kEnvironment,
                  fmt::format("cannot unpack '{}': check the space on the disk",
                              wheel.path().filename().string()));
  }
  return wheels;
}

}  // namespace plumb::stacks
