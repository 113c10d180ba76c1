// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plumb::engine {

/// Keeps the calling thread, and those that it starts from now on, on one of the processors that it
/// may use: the one with number `place` among them, counted round from 0. Returns false if the
/// system refuses; the thread then stays where it was.
bool stay_on_processor(std::uint32_t place);

}  // namespace plumb::engine
