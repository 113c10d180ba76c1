// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyze/what_if.hpp"

namespace plumb {

/// Answers: what if the library picked the fastest variant it has, instead of its own choice?
[[nodiscard]] WhatIfResult best_variant_what_if(const WhatIfInput& input);

/// Answers: what if layers were fused wherever the library can (harness/rewrite)?
[[nodiscard]] WhatIfResult fusion_what_if(const WhatIfInput& input);

/// Answers: what if images had their channels last, wherever a layer can take them so? Only by
/// execution: rows do not say in which layout a variant named `layout=any` takes them.
[[nodiscard]] WhatIfResult channels_last_what_if(const WhatIfInput& input);

/// Answers: what if the model ran in bf16, accumulating in f32?
[[nodiscard]] WhatIfResult bf16_what_if(const WhatIfInput& input);

/// Answers: what if products with constant weights were computed in 8-bit integers?
[[nodiscard]] WhatIfResult int8_what_if(const WhatIfInput& input);

/// Answers: what if branches ran side by side, on processors enough?
[[nodiscard]] WhatIfResult parallel_branches_what_if(const WhatIfInput& input);

/// Answers: what if all of it were done: fused, the fastest variants, in bf16?
[[nodiscard]] WhatIfResult all_what_if(const WhatIfInput& input);

}  // namespace plumb
