// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target without libFuzzer: over its seeds, then over changed copies of them, the same
// in every call. It takes libFuzzer's -runs, -seed and -dict, and folders of seeds. The input that
// ends the program is left as crash-input.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMostBytes = 1 << 16;
constexpr std::array kFatal{SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

std::string current;

extern "C" void keep_input(int signal) {
  const int file = ::open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  static_cast<void>(!::write(file, current.data(), current.size()));
  ::_exit(128 + signal);
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Reads the words of a dictionary: one in quotes on each line, with \\, \" and \xNN.
std::vector<std::string> words_of(const std::string& file) {
  std::vector<std::string> words;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find('"');
    const std::size_t end = line.rfind('"');
    if (line.starts_with('#') || begin == end) {
      continue;
    }
    std::string word;
    for (std::size_t i = begin + 1; i < end; ++i) {
      if (line[i] == '\\' && line.compare(i + 1, 1, "x") == 0) {
        word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
        i += 3;
      } else {
        i += line[i] == '\\' ? 1U : 0U;
        word += line[i];
      }
    }
    words.push_back(word);
  }
  return words;
}

/// Maker of inputs from seeds and words.
class Inputs {
 public:
  Inputs(std::vector<std::string> seeds, std::vector<std::string> words, std::uint64_t seed)
      : seeds_(std::move(seeds)), words_(std::move(words)), random_(seed) {
    if (seeds_.empty()) {
      seeds_.emplace_back();
    }
  }

  std::string next() {
    std::string input = one_of(seeds_);
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      change(input);
    }
    input.resize(std::min(input.size(), kMostBytes));
    return input;
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  const std::string& one_of(const std::vector<std::string>& texts) {
    return texts[below(texts.size())];
  }

  void change(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(input.size() - at, 32) + 1);
    switch (below(8)) {
      case 0:
        input.erase(at, length);
        break;
      case 1:
        input.insert(at, input.substr(at, length));
        break;
      case 2:
        input.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 3:
        input.resize(at);
        break;
      case 4: {  // the end of another seed
        const std::string& other = one_of(seeds_);
        input.replace(at, std::string::npos, other, below(other.size() + 1), std::string::npos);
        break;
      }
      case 5:
        input.insert(at, words_.empty() ? std::string(length, '\0') : one_of(words_));
        break;
      default:
        if (at < input.size()) {
          constexpr std::string_view kEdges("\0\1\x7f\x80\xff-09.\"", 10);
          input[at] = below(2) == 0 ? static_cast<char>(input[at] ^ (1 << below(8)))
                                    : kEdges[below(kEdges.size())];
        }
    }
  }

  std::vector<std::string> seeds_;
  std::vector<std::string> words_;
  std::mt19937_64 random_;
};

void run(const std::string& input) {
  current = input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  std::vector<std::string> words;
  std::uint64_t seed = 1;
  std::uint64_t runs = 0;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("-runs=")) {
      runs = std::stoull(value);
    } else if (argument.starts_with("-seed=")) {
      seed = std::stoull(value);
    } else if (argument.starts_with("-dict=")) {
      words = words_of(value);
    } else if (!argument.starts_with('-')) {
      for (const auto& file : std::filesystem::directory_iterator(argument)) {
        seeds.push_back(read(file.path()));
      }
    }
  }
  std::sort(seeds.begin(), seeds.end());  // a folder has no order
  for (const int signal : kFatal) {
    std::signal(signal, keep_input);
  }
  for (const std::string& one : seeds) {
    run(one);
  }
  Inputs inputs(seeds, words, seed);
  for (std::uint64_t i = 0; i < runs; ++i) {
    run(inputs.next());
  }
  std::cout << seeds.size() << " seeds and " << runs << " changed inputs\n";
}
