// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plumb::cli {

/// Adds --device, which names one of several GPUs by its number or its identifier.
CLI::Option* add_device_option(CLI::App& command, std::string& device);

}  // namespace plumb::cli
