// SPDX-License-Identifier: Apache-2.0
// What a launch tells a kernel. The C++ compiler reads it and, as text, NVRTC, which has no
// standard headers. It has numbers only, with the same layout for both.
#pragma once

namespace plumb::cuda::kernels {

using Index = long long;

constexpr int kMaxOperands = 12;  // of one kernel: outputs first, then inputs
constexpr int kMaxAxes = 8;
constexpr int kThreadsOfRow = 128;  // of the block that works on one row; a power of two

/// Addresses of a kernel's operands.
template <unsigned Count>
struct Addresses {
  void* at[Count];
};
using Operands = Addresses<kMaxOperands>;

/// Index space: its extents, outermost first, and the strides of each operand. A stride is the
/// number of elements by which one step along an axis moves.
struct Space {
  int rank;
  Index count;
  Index extents[kMaxAxes];
  Index strides[kMaxOperands][kMaxAxes];
};

/// Shape of kernels that compute each element by itself or only move it (map.cuh).
struct MapShape {
  Space space;
  Index starts[kMaxOperands];  // elements before an operand's first
  double parameters[2];
};

/// Shape of kernels that read whole rows (rows.cuh): all rows, and the elements of each.
struct RowShape {
  Space rows;
  Space line;
  double parameter;
  int flag;
};

constexpr int kValuesOfThread = 8;  // numbers of an attention's result that one thread adds up

/// Shape of attention. Strides lie along batch, heads and positions. An operand's numbers lie
/// together.
struct AttentionShape {
  Index rows;  // batch × q_heads × queries; dk and dv: batch × kv_heads × keys
  Index q_heads;
  Index kv_heads;  // divides q_heads
  Index queries;
  Index past;  // keys of earlier steps
  Index keys;  // all of them
  Index head;  // numbers of a query and of a key
  Index value_head;
  Index strides[7][3];  // of the result, q, k, v, nothing, earlier keys, earlier values
  Index mask_strides[3];
  int mask;  // 0 none, 1 added, 2 true: the key counts
  int causal;
  double scale;
  double softcap;  // 0: none
};

constexpr int kMaxSteps = 4;  // unary functions of a chain (integers.cuh)

/// Shape of kernels that take each element through a chain of steps. The space has the strides of
/// all their operands.
struct StepShape {
  /// Parameters of the unary functions in a chain.
  struct Parameters {
    double of[kMaxSteps][2];
  };

  Space space;
  Parameters parameters;
};

/// Shape of products of integers. The space is the result's. Along it lie the strides of the
/// factors and of the steps' operands.
struct ProductShape {
  Space space;
  StepShape::Parameters parameters;
  Index depth;      // numbers that are multiplied and added up for one element
  Index steps[2];   // of the factors, from one of them to the next
  int has_zero[2];  // zero points
};

/// Shape of convolutions of integers. The space is as that of products, with batch, channels and
/// always three spatial axes.
struct WindowShape {
  Space space;
  StepShape::Parameters parameters;
  Index in[3];
  Index kernel[3];
  Index strides[3];
  Index dilations[3];
  Index pads[3];
  Index image_steps[4];   // channels, then the spatial axes
  Index filter_steps[4];  // in the same order
  Index channels;         // of the image in one group
  Index group_filters;    // channels of the result in one group
  int has_zero[2];        // zero points
};

/// Shape of copies of integers that are shifted by 128 and padded. It has, for each axis, what lies
/// before the input, and its extent.
struct ShiftShape {
  Space space;
  Index before[kMaxAxes];
  Index extents[kMaxAxes];
  int has_zero;
};

/// Shape of sums along lines of numbers. The space has a line an element.
struct LineShape {
  Space space;
  Index length;
  Index step;
};

/// Shape of recurrent layers: one block an entry of the batch and direction.
struct RecurrentShape {
  Index directions;
  Index steps;
  Index batch;
  Index input;
  Index hidden;
  Index gates;
  Index x_strides[2];      // along steps and batch
  Index state_strides[2];  // of h0 and c0, along directions and batch
  int reverse;             // the first direction goes from the end
  int has_bias;
  int has_state;
  int has_cell;
  int has_peephole;
  int gates_state;  // the reset gate comes before the product with the state
};

/// Shape of pools. There are always three spatial axes; those missing have extent 1.
struct PoolShape {
  Space out;  // batch, channels, three spatial axes
  Index in[3];
  Index kernel[3];
  Index strides[3];
  Index dilations[3];
  Index pads[3];
  Index end_pads[3];
  int include_pad;
  double power;
};

/// Shape of pools' gradients. The space is the data's, always with three spatial axes. Along them
/// lie the strides of the result, of the gradient of the pool's result and of the data.
struct PoolGradientShape {
  Space space;
  Index data[3];
  Index windows[3];  // extents of the pool's result
  Index kernel[3];
  Index strides[3];
  Index dilations[3];
  Index pads[3];
  Index end_pads[3];
  int include_pad;
};

/// Shape of a gather's gradient. All operands are dense.
struct GatherGradientShape {
  Index outer;    // extents before the axis
  Index indices;  // all of them
  Index inner;    // extents behind the axis
  Index extent;   // of the result along the axis
};

constexpr int kMaxTensors = 48;  // that one launch updates
constexpr int kMaxUpdateOperands = 4 * kMaxTensors + 3;
constexpr Index kChunk = 2048;  // elements that a block updates at a time

using UpdateOperands = Addresses<kMaxUpdateOperands>;

/// Shape of an update of several tensors. Each is cut into chunks of kChunk elements.
struct UpdateShape {
  int tensors;
  int decays_weights;         // else the decay is added to the gradient
  int condition;              // operand that leaves all as it is where it is 0; below 0: none
  Index counts[kMaxTensors];  // elements of each tensor
  Index ends[kMaxTensors];    // chunks of each tensor and all before it
  double rate;
  double decay;
  double momentum;
  double beta1;
  double beta2;
  double epsilon;
};

constexpr int kMaxGroups = 32;  // of kMaxTensors gradients, which one loss scale follows

/// Shape of the rule by which a loss scale adapts.
struct LossScaleShape {
  int groups;
  Index chunks[kMaxGroups];  // of the gradients of each group
  float backoff;
  float growth;
  float interval;  // steps without an overflow until the scale grows
};

/// Shape of local response normalisation over channels: axis 1 of the space.
struct ResponseShape {
  Space space;
  Index before;
  Index after;
  double alpha_by_size;
  double beta;
  double bias;
};

/// Shape of a gather along one axis. The space is outer × indices × inner.
struct GatherShape {
  Space space;
  Index extent;       // of the data along the axis
  Index axis_stride;  // of the data
};

/// Shape of padding: for each axis of the output what lies before the input, and the input's
/// extent.
struct PadShape {
  Space space;
  Index before[kMaxAxes];
  Index extents[kMaxAxes];
  int mode;  // 0 constant, 1 reflect, 2 edge, 3 wrap
  double value;
};

/// Shape of resizing: for each axis how an output position falls on the input's.
struct ResizeShape {
  Space space;
  Index extents[kMaxAxes];  // of the input
  double scales[kMaxAxes];
  double resized[kMaxAxes];  // scale × extent
  int coordinates;  // 0 half_pixel, 1 half_pixel_symmetric, 2 pytorch_half_pixel, 3 align_corners,
                    // 4 asymmetric, 5 tf_half_pixel_for_nn
  int nearest;      // 0 floor, 1 ceil, 2 round_prefer_ceil, 3 round_prefer_floor
  int resized_axes[2];  // axes that are interpolated; -1: none
};

}  // namespace plumb::cuda::kernels
