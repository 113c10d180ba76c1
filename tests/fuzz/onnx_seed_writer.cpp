// SPDX-License-Identifier: Apache-2.0
//
// Writes seeds for the ONNX reader's fuzz target: onnx_seed_writer OUTPUT_FOLDER MODEL.onnxtxt…
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "harness/model/onnx/onnx_reader.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc < 3) {
    std::cerr << "usage: onnx_seed_writer FOLDER MODEL…\n";
    return 2;
  }
  const fs::path folder = argv[1];
  fs::create_directories(folder);
  for (int i = 2; i < argc; ++i) {
    const fs::path source = argv[i];
    std::ofstream file(folder / source.stem(), std::ios::binary);
    if (!plumb::model::load_onnx_file(source).SerializeToOstream(&file)) {
      std::cerr << "cannot write the seed of " << source << '\n';
      return 1;
    }
  }
  return 0;
}
