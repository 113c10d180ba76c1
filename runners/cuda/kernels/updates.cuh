// SPDX-License-Identifier: Apache-2.0
// Updates of weights by their gradients, in place and in f32. One launch updates several tensors.
// Of what each tensor has, those that are written come first, tensor after tensor. A condition is
// the last operand.
namespace plumb::cuda::kernels {

/// Part of a tensor that a block works on.
struct Chunk {
  int tensor;
  Index begin;
  Index end;
};

__device__ inline Index chunks_of(const UpdateShape& shape) {
  return shape.ends[shape.tensors - 1];
}
__device__ inline Index first_chunk(const UpdateShape& shape, int tensor) {
  return tensor == 0 ? 0 : shape.ends[tensor - 1];
}
__device__ inline Chunk chunk_at(const UpdateShape& shape, Index number) {
  int tensor = 0;
  while (number >= shape.ends[tensor]) {
    ++tensor;
  }
  const Index begin = (number - first_chunk(shape, tensor)) * kChunk;
  const Index count = shape.counts[tensor];
  return {tensor, begin, count - begin < kChunk ? count : begin + kChunk};
}
__device__ inline float* numbers(const UpdateOperands& operands, int operand) {
  return static_cast<float*>(operands.at[operand]);
}
/// Returns whether an update happens. Its condition is a number on the GPU, so that captured graphs
/// follow it.
__device__ inline bool happens(const UpdateOperands& operands, const UpdateShape& shape) {
  return shape.condition < 0 || *numbers(operands, shape.condition) != 0.0f;
}

/// Takes a step down the slope. Operands are the weights and, with `Momentum`, the velocities of
/// each tensor, then the gradients.
template <bool Momentum>
__device__ inline void sgd(const UpdateOperands& operands, const UpdateShape& shape) {
  if (!happens(operands, shape)) {
    return;
  }
  constexpr int kWritten = Momentum ? 2 : 1;
  const float rate = static_cast<float>(shape.rate);
  const float decay = static_cast<float>(shape.decay);
  const float momentum = static_cast<float>(shape.momentum);
  for (Index number = blockIdx.x; number < chunks_of(shape); number += gridDim.x) {
    const Chunk chunk = chunk_at(shape, number);
    float* const weights = numbers(operands, kWritten * chunk.tensor);
    float* const velocities = numbers(operands, kWritten * chunk.tensor + kWritten - 1);
    const float* const gradient = numbers(operands, kWritten * shape.tensors + chunk.tensor);
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      const float weight = weights[i];
      float slope = gradient[i] + decay * weight;
      if (Momentum) {
        slope += momentum * velocities[i];
        velocities[i] = slope;
      }
      weights[i] = weight - rate * slope;
    }
  }
}

/// Counts the step of each tensor, and computes for it by what both moments are corrected. Operands
/// are the steps of each tensor, then the corrections: two numbers a tensor.
__device__ inline void count_steps(const UpdateOperands& operands, const UpdateShape& shape) {
  if (!happens(operands, shape)) {
    return;
  }
  float* const corrections = numbers(operands, shape.tensors);
  for (Index tensor = first_element(); tensor < shape.tensors; tensor += element_step()) {
    float* const steps = numbers(operands, static_cast<int>(tensor));
    const float done = *steps + 1.0f;
    *steps = done;
    // In double: rounding would change 1 - beta, a thousandth, in its fifth digit.
    const double first = 1.0 - pow(shape.beta1, static_cast<double>(done));
    const double second = 1.0 - pow(shape.beta2, static_cast<double>(done));
    corrections[2 * tensor] = static_cast<float>(1.0 / first);
    corrections[2 * tensor + 1] = static_cast<float>(1.0 / sqrt(second));
  }
}

/// Adam's moments of one element.
struct Moments {
  float first;
  float second;
};

__device__ inline Moments next_moments(const UpdateShape& shape, Moments now, float slope) {
  return {static_cast<float>(shape.beta1) * now.first +
              static_cast<float>(1.0 - shape.beta1) * slope,
          static_cast<float>(shape.beta2) * now.second +
              static_cast<float>(1.0 - shape.beta2) * slope * slope};
}

/// Returns the direction in which corrected moments move a weight. `corrections` are the tensor's.
__device__ inline float direction_of(const UpdateShape& shape,
                                     Moments moments,
                                     const float* corrections) {
  return moments.first * corrections[0] /
         (sqrt(moments.second) * corrections[1] + static_cast<float>(shape.epsilon));
}

/// Moves weights by their moments. Operands are weights, first and second moments of each tensor,
/// then the gradients, then the corrections.
__device__ inline void adam(const UpdateOperands& operands, const UpdateShape& shape) {
  if (!happens(operands, shape)) {
    return;
  }
  const float rate = static_cast<float>(shape.rate);
  const float decay = shape.decays_weights ? 0.0f : static_cast<float>(shape.decay);
  const float keep =
      shape.decays_weights ? static_cast<float>(1.0 - shape.rate * shape.decay) : 1.0f;
  for (Index number = blockIdx.x; number < chunks_of(shape); number += gridDim.x) {
    const Chunk chunk = chunk_at(shape, number);
    float* const weights = numbers(operands, 3 * chunk.tensor);
    float* const firsts = numbers(operands, 3 * chunk.tensor + 1);
    float* const seconds = numbers(operands, 3 * chunk.tensor + 2);
    const float* const gradient = numbers(operands, 3 * shape.tensors + chunk.tensor);
    const float* const corrections = numbers(operands, 4 * shape.tensors) + 2 * chunk.tensor;
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      const float weight = weights[i];
      const Moments moments =
          next_moments(shape, {firsts[i], seconds[i]}, gradient[i] + decay * weight);
      firsts[i] = moments.first;
      seconds[i] = moments.second;
      weights[i] = keep * weight - rate * direction_of(shape, moments, corrections);
    }
  }
}

/// Updates moments, and adds up the squares of weights and directions of each chunk. Operands are
/// first and second moments of each tensor, the sums, then weights and gradients of each tensor,
/// then the corrections.
__device__ inline void lamb_moments(const UpdateOperands& operands, const UpdateShape& shape) {
  if (!happens(operands, shape)) {
    return;
  }
  const float decay = static_cast<float>(shape.decay);
  float* const sums = numbers(operands, 2 * shape.tensors);
  for (Index number = blockIdx.x; number < chunks_of(shape); number += gridDim.x) {
    const Chunk chunk = chunk_at(shape, number);
    float* const firsts = numbers(operands, 2 * chunk.tensor);
    float* const seconds = numbers(operands, 2 * chunk.tensor + 1);
    const int read = 2 * shape.tensors + 1;
    const float* const weights = numbers(operands, read + 2 * chunk.tensor);
    const float* const gradient = numbers(operands, read + 2 * chunk.tensor + 1);
    const float* const corrections = numbers(operands, read + 2 * shape.tensors) + 2 * chunk.tensor;
    float of_weights = 0.0f;
    float of_direction = 0.0f;
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += kThreadsOfRow) {
      const Moments moments = next_moments(shape, {firsts[i], seconds[i]}, gradient[i]);
      firsts[i] = moments.first;
      seconds[i] = moments.second;
      const float direction = direction_of(shape, moments, corrections) + decay * weights[i];
      of_weights += weights[i] * weights[i];
      of_direction += direction * direction;
    }
    of_weights = joined<Sum<float>, float>(of_weights);
    of_direction = joined<Sum<float>, float>(of_direction);
    if (threadIdx.x == 0) {
      sums[2 * number] = of_weights;
      sums[2 * number + 1] = of_direction;
    }
  }
}

/// Computes the rate of each tensor: by as much of its norm as the norm of its direction is not.
/// Operands are the rates and the sums.
__device__ inline void lamb_rates(const UpdateOperands& operands, const UpdateShape& shape) {
  if (!happens(operands, shape)) {
    return;
  }
  const float* const sums = numbers(operands, 1);
  for (Index row = blockIdx.x; row < shape.tensors; row += gridDim.x) {
    const int tensor = static_cast<int>(row);
    float of_weights = 0.0f;
    float of_direction = 0.0f;
    for (Index number = first_chunk(shape, tensor) + threadIdx.x; number < shape.ends[tensor];
         number += kThreadsOfRow) {
      of_weights += sums[2 * number];
      of_direction += sums[2 * number + 1];
    }
    of_weights = joined<Sum<float>, float>(of_weights);
    of_direction = joined<Sum<float>, float>(of_direction);
    if (threadIdx.x == 0) {
      const bool known = of_weights > 0.0f && of_direction > 0.0f;
      numbers(operands, 0)[tensor] =
          static_cast<float>(shape.rate) * (known ? sqrt(of_weights / of_direction) : 1.0f);
    }
  }
}

/// Moves weights by their moments and their tensor's rate. Operands are the weights of each tensor,
/// then first and second moments of each, the corrections and the rates.
__device__ inline void lamb(const UpdateOperands& operands, const UpdateShape& shape) {
  if (!happens(operands, shape)) {
    return;
  }
  const float decay = static_cast<float>(shape.decay);
  for (Index number = blockIdx.x; number < chunks_of(shape); number += gridDim.x) {
    const Chunk chunk = chunk_at(shape, number);
    float* const weights = numbers(operands, chunk.tensor);
    const float* const firsts = numbers(operands, shape.tensors + 2 * chunk.tensor);
    const float* const seconds = numbers(operands, shape.tensors + 2 * chunk.tensor + 1);
    const float* const corrections = numbers(operands, 3 * shape.tensors) + 2 * chunk.tensor;
    const float rate = numbers(operands, 3 * shape.tensors + 1)[chunk.tensor];
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      const float weight = weights[i];
      weights[i] = weight - rate * (direction_of(shape, {firsts[i], seconds[i]}, corrections) +
                                    decay * weight);
    }
  }
}

constexpr float kLargestFloat = 3.402823466e38f;

/// Writes for each chunk of the gradients 1 if a number of it is infinite or none, else 0. Operands
/// are these flags, then the gradients.
__device__ inline void find_overflows(const UpdateOperands& operands, const UpdateShape& shape) {
  float* const flags = numbers(operands, 0);
  for (Index number = blockIdx.x; number < chunks_of(shape); number += gridDim.x) {
    const Chunk chunk = chunk_at(shape, number);
    const float* const gradient = numbers(operands, 1 + chunk.tensor);
    float overflows = 0.0f;
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += kThreadsOfRow) {
      overflows = fabs(gradient[i]) <= kLargestFloat ? overflows : 1.0f;
    }
    overflows = joined<Largest<float>, float>(overflows);
    if (threadIdx.x == 0) {
      flags[number] = overflows;
    }
  }
}

/// Adapts a loss scale, in one block. Operands are the new scale, the steps since it changed and
/// the condition of the updates, then the old scale and steps, then the flags of each group.
__device__ inline void adapt_loss_scale(const UpdateOperands& operands,
                                        const LossScaleShape& shape) {
  float overflows = 0.0f;
  for (int group = 0; group < shape.groups; ++group) {
    const float* const flags = numbers(operands, 5 + group);
    for (Index i = threadIdx.x; i < shape.chunks[group]; i += kThreadsOfRow) {
      overflows = Largest<float>::of(overflows, flags[i]);
    }
  }
  const bool finite = joined<Largest<float>, float>(overflows) == 0.0f;
  if (threadIdx.x == 0) {
    const float scale = *numbers(operands, 3);
    const float steps = *numbers(operands, 4) + 1.0f;
    const bool grows = finite && steps == shape.interval;
    const float grown = scale * shape.growth <= kLargestFloat ? scale * shape.growth : scale;
    *numbers(operands, 0) = grows ? grown : (finite ? scale : scale * shape.backoff);
    *numbers(operands, 1) = finite && !grows ? steps : 0.0f;
    *numbers(operands, 2) = finite ? 1.0f : 0.0f;
  }
}

}  // namespace plumb::cuda::kernels
