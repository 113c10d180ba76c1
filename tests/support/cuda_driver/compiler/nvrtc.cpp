// SPDX-License-Identifier: Apache-2.0
// Test double of NVRTC: libnvrtc.so.13. It compiles kernels by the system's C++ compiler into a
// shared library, and its image names that file. What was compiled before is taken from a folder.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cuda_driver/compiler/prelude.hpp"
#include "tests/support/cuda_driver/kernel_module.hpp"

#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))

namespace plumb::stand_in {
namespace {

constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION
constexpr int kInvalidInput = 3;
constexpr int kInvalidProgram = 4;
constexpr std::array kArchitectures{75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

struct Program {
  std::string source;
  std::string log;
  std::string image;
  bool native = false;
};

std::string digest(const std::string& text) {
  std::uint64_t a = 14695981039346656037ULL;
  std::uint64_t b = 1099511628211ULL;
  for (const char letter : text) {
    a = (a ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
    b = (b + static_cast<unsigned char>(letter)) * 6364136223846793005ULL + (b >> 29);
  }
  std::ostringstream out;
  out << std::hex << a << b;
  return out.str();
}

/// Adds to each kernel a function that takes its parameters as cuLaunchKernel() does.
std::string entry_points(const std::string& source, std::vector<std::string>& names) {
  static const std::regex kKernel(R"(extern "C" __global__ void (\w+)\(([^)]*)\))");
  static const std::regex kParameter(R"(\s*(.*?)\s*\w+\s*)");
  std::string text;
  for (std::sregex_iterator at(source.begin(), source.end(), kKernel), end; at != end; ++at) {
    const std::string name = (*at)[1];
    std::istringstream list((*at)[2]);
    std::string arguments;
    std::string sizes;
    int index = 0;
    for (std::string one; std::getline(list, one, ',');) {
      std::smatch parts;
      std::regex_match(one, parts, kParameter);
      const std::string type = parts[1];
      arguments += (index == 0 ? "" : ", ") + ("*static_cast<" + type) + "*>(p[" +
                   std::to_string(index) + "])";
      sizes += "sizeof(" + type + "), ";
      index += 1;
    }
    text += "extern \"C\" void plumb_run_" + name + "(void** p) { " + name + "(" + arguments +
            "); }\nextern \"C\" { extern const unsigned long plumb_bytes_" + name + "[] = {" +
            sizes + "0}; }\n";
    names.push_back(name);
  }
  return text;
}

std::filesystem::path folder() {
  const char* const named = std::getenv("PLUMB_STAND_IN_KERNELS");
  const std::filesystem::path path = named != nullptr ? named : PLUMB_STAND_IN_KERNELS;
  std::filesystem::create_directories(path);
  return path;
}

/// Returns whether kernels are only named, for tests that run none.
bool only_names() {
  const char* const named = std::getenv("PLUMB_STAND_IN_KERNELS");
  return named != nullptr && std::strcmp(named, "none") == 0;
}

std::string image_of(const std::string& library, const std::vector<std::string>& names) {
  std::string image = kImageMagic + library + "\n";
  for (const std::string& name : names) {
    image += name + "\n";
  }
  return image;
}

int compile(Program& program, const std::string& standard) {
  std::vector<std::string> names;
  const std::string entries = entry_points(program.source, names);
  if (only_names()) {
    program.image = image_of("", names);
    return 0;
  }
  const std::string text = kPrelude + program.source + entries;
  const std::string options = " " + standard +
                              " -O1 -w -fno-gnu-unique -fsanitize=thread -fPIC "
                              "-pthread";
  const std::filesystem::path base = folder() / digest(PLUMB_STAND_IN_COMPILER + options + text);
  const std::filesystem::path library = base.string() + ".so";
  if (!std::filesystem::exists(library)) {
    const std::string own = base.string() + "-" + std::to_string(getpid());
    std::ofstream(own + ".cpp") << text;
    // Compiled and linked apart: the linker would add the sanitizer's own library.
    const std::string command = "(" PLUMB_STAND_IN_COMPILER + options + " -c -o " + own + ".o " +
                                own + ".cpp && " + PLUMB_STAND_IN_COMPILER + " -shared -o " + own +
                                ".so " + own + ".o) 2>" + own + ".log";
    const int status = std::system(command.c_str());  // NOLINT: a fixed command on our own files
    std::ostringstream words;
    words << std::ifstream(own + ".log").rdbuf();
    program.log = words.str();
    for (const char* const made : {".cpp", ".o", ".log"}) {
      std::filesystem::remove(own + made);
    }
    if (status != 0) {
      return kCompilation;
    }
    std::filesystem::rename(own + ".so", library);
  }
  program.image = image_of(library.string(), names);
  return 0;
}

int give(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

}  // namespace
}  // namespace plumb::stand_in

using plumb::stand_in::Program;

PLUMB_EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
PLUMB_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(plumb::stand_in::kArchitectures.size());
  return 0;
}
PLUMB_EXPORT int nvrtcGetSupportedArchs(int* list) {
  std::copy(plumb::stand_in::kArchitectures.begin(), plumb::stand_in::kArchitectures.end(), list);
  return 0;
}
PLUMB_EXPORT int nvrtcCreateProgram(void** program,
                                    const char* source,
                                    const char* /*name*/,
                                    int headers,
                                    const char* const* /*texts*/,
                                    const char* const* /*names*/) {
  if (headers != 0) {
    return plumb::stand_in::kInvalidInput;
  }
  *program = new Program{source, "", "", false};
  return 0;
}
PLUMB_EXPORT int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return 0;
}
PLUMB_EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  std::string standard = "-std=c++17";
  Program& one = *static_cast<Program*>(program);
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (option.starts_with("--gpu-architecture=sm_")) {
      one.native = true;
    } else if (option.starts_with("--std=")) {
      standard = option.substr(1);
    } else if (!option.starts_with("--gpu-architecture=compute_")) {
      one.log = "unknown option " + option;
      return 5;  // NVRTC_ERROR_INVALID_OPTION
    }
  }
  return plumb::stand_in::compile(one, standard);
}
PLUMB_EXPORT int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  *size = static_cast<Program*>(program)->log.size() + 1;
  return 0;
}
PLUMB_EXPORT int nvrtcGetProgramLog(void* program, char* log) {
  return plumb::stand_in::give(static_cast<Program*>(program)->log, log);
}
PLUMB_EXPORT int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  const Program& one = *static_cast<Program*>(program);
  *size = one.native ? one.image.size() + 1 : 0;  // "0 if the value specified to -arch is virtual"
  return 0;
}
PLUMB_EXPORT int nvrtcGetCUBIN(void* program, char* image) {
  const Program& one = *static_cast<Program*>(program);
  return one.native ? plumb::stand_in::give(one.image, image) : plumb::stand_in::kInvalidProgram;
}
PLUMB_EXPORT int nvrtcGetPTXSize(void* program, std::size_t* size) {
  *size = static_cast<Program*>(program)->image.size() + 1;
  return 0;
}
PLUMB_EXPORT int nvrtcGetPTX(void* program, char* image) {
  return plumb::stand_in::give(static_cast<Program*>(program)->image, image);
}
PLUMB_EXPORT const char* nvrtcGetErrorString(int status) {
  return status == 0                               ? "NVRTC_SUCCESS"
         : status == plumb::stand_in::kCompilation ? "NVRTC_ERROR_COMPILATION"
                                                   : "NVRTC_ERROR";
}
