// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_libraries/product.hpp"

#include <cmath>

namespace plumb::stand_in {
namespace {

using ProductEpilogue = cuda::abi::BlasCalls::Lt::Epilogue;

bool adds_bias(ProductEpilogue epilogue) {
  return epilogue == ProductEpilogue::kBias || epilogue == ProductEpilogue::kReluBias ||
         epilogue == ProductEpilogue::kGeluBias;
}

/// Returns how many numbers the gradient of a bias has. 0: it is not asked for.
std::int64_t bias_gradient_size(const Product& product) {
  switch (product.epilogue) {
    case ProductEpilogue::kReluGradientBias:
    case ProductEpilogue::kGeluGradientBias:
    case ProductEpilogue::kBiasGradientA:
      return product.d.rows;
    case ProductEpilogue::kBiasGradientB:
      return product.d.columns;
    default:
      return 0;
  }
}

bool takes_gradient_of_relu(ProductEpilogue epilogue) {
  return epilogue == ProductEpilogue::kReluGradient ||
         epilogue == ProductEpilogue::kReluGradientBias;
}
bool takes_gradient_of_gelu(ProductEpilogue epilogue) {
  return epilogue == ProductEpilogue::kGeluGradient ||
         epilogue == ProductEpilogue::kGeluGradientBias;
}

constexpr double kSlope = 0.7978845608028654;  // √(2 ÷ π)
constexpr double kCubic = 0.044715;

double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(kSlope * (x + kCubic * x * x * x)));
}

double gelu_gradient(double x) {
  const double t = std::tanh(kSlope * (x + kCubic * x * x * x));
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * kSlope * (1.0 + 3.0 * kCubic * x * x);
}

std::int64_t depth(const Product& product) {
  return product.transpose_a ? product.a.rows : product.a.columns;
}

/// Returns the elements' type of a bias. Of 8-bit floats it is that of the documentation's table.
cuda::abi::BlasCalls::Lt::Type bias_type(const Product& product) {
  const auto type = product.d.type;
  return type == cuda::abi::BlasCalls::Lt::Type::kF8E4M3 ||
                 type == cuda::abi::BlasCalls::Lt::Type::kF8E5M2
             ? cuda::abi::BlasCalls::Lt::Type::kBf16
             : type;
}

}  // namespace

std::string fault_of(const Product& p) {
  const std::int64_t m = p.transpose_a ? p.a.columns : p.a.rows;
  const std::int64_t n = p.transpose_b ? p.b.rows : p.b.columns;
  const std::int64_t k = p.transpose_b ? p.b.columns : p.b.rows;
  if (m != p.d.rows || n != p.d.columns || k != depth(p) || p.c.rows != p.d.rows ||
      p.c.columns != p.d.columns) {
    return "extents that do not belong together";
  }
  for (const MatrixData* matrix : {&p.a, &p.b, &p.c, &p.d}) {
    if (matrix->leading < matrix->rows) {
      return "a leading dimension below the rows";
    }
    if (matrix->batch != p.d.batch) {
      return "batches of several sizes";
    }
  }
  const bool eight = p.a.type == cuda::abi::BlasCalls::Lt::Type::kF8E4M3 ||
                     p.a.type == cuda::abi::BlasCalls::Lt::Type::kF8E5M2;
  // "To use FP8 kernels [...] All matrix dimensions must meet the optimal requirements", A must be
  // transposed and B non-transposed ("TN" format).
  if (eight && (!p.transpose_a || p.transpose_b || k % 16 != 0 || m % 16 != 0)) {
    return "8-bit floats that are not aligned or not in the form TN";
  }
  return "";
}

std::vector<Range> ranges_of(const Product& p) {
  std::vector<Range> ranges{
      p.a.range(p.a_address, false), p.b.range(p.b_address, false), p.d.range(p.d_address, true)};
  if (p.beta != 0.0) {
    ranges.push_back(p.c.range(p.c_address, false));
  }
  const std::size_t bytes = bytes_of(bias_type(p));
  if (adds_bias(p.epilogue)) {
    ranges.push_back({p.bias, static_cast<std::size_t>(p.d.rows) * bytes, false});
  }
  if (const std::int64_t size = bias_gradient_size(p); size > 0) {
    ranges.push_back({p.bias, static_cast<std::size_t>(size) * bytes, true});
  }
  if (takes_gradient_of_gelu(p.epilogue)) {
    MatrixData aux = p.d;
    aux.leading = p.aux_leading;
    ranges.push_back(aux.range(p.aux, false));
  }
  if (takes_gradient_of_relu(p.epilogue)) {
    const std::int64_t bits = (p.d.columns - 1) * p.aux_leading + p.d.rows;
    ranges.push_back({p.aux, static_cast<std::size_t>((bits + 7) / 8), false});
  }
  return ranges;
}

void multiply(const Product& p) {
  const std::vector<double> a = read_numbers(p.a_address, p.a.type, p.a.span());
  const std::vector<double> b = read_numbers(p.b_address, p.b.type, p.b.span());
  std::vector<double> c;
  if (p.beta != 0.0) {
    c = read_numbers(p.c_address, p.c.type, p.c.span());
  }
  std::vector<double> bias;
  if (adds_bias(p.epilogue)) {
    bias = read_numbers(p.bias, bias_type(p), static_cast<std::size_t>(p.d.rows));
  }
  std::vector<double> saved;
  if (takes_gradient_of_gelu(p.epilogue)) {
    MatrixData aux = p.d;
    aux.leading = p.aux_leading;
    saved = read_numbers(p.aux, p.d.type, aux.span());
  }
  std::vector<double> gradient(static_cast<std::size_t>(bias_gradient_size(p)), 0.0);
  for (std::int64_t entry = 0; entry < p.d.batch; ++entry) {
    for (std::int64_t column = 0; column < p.d.columns; ++column) {
      for (std::int64_t row = 0; row < p.d.rows; ++row) {
        double sum = 0.0;
        for (std::int64_t k = 0; k < depth(p); ++k) {
          sum += a[p.transpose_a ? p.a.at(k, row, entry) : p.a.at(row, k, entry)] *
                 b[p.transpose_b ? p.b.at(column, k, entry) : p.b.at(k, column, entry)];
        }
        double value = p.alpha * sum;
        if (p.beta != 0.0) {
          value += p.beta * c[p.c.at(row, column, entry)];
        }
        if (!bias.empty()) {
          value += bias[static_cast<std::size_t>(row)];
        }
        if (p.epilogue == ProductEpilogue::kRelu || p.epilogue == ProductEpilogue::kReluBias) {
          value = value < 0.0 ? 0.0 : value;
        } else if (p.epilogue == ProductEpilogue::kGelu ||
                   p.epilogue == ProductEpilogue::kGeluBias) {
          value = gelu(value);
        } else if (takes_gradient_of_relu(p.epilogue)) {
          const auto bit = static_cast<std::size_t>(column * p.aux_leading + row);
          const auto byte = static_cast<const unsigned char*>(p.aux)[bit / 8];
          value = (byte >> (bit % 8) & 1) != 0 ? value : 0.0;
        } else if (takes_gradient_of_gelu(p.epilogue)) {
          value *= gelu_gradient(saved[static_cast<std::size_t>(column * p.aux_leading + row)]);
        }
        if (p.epilogue == ProductEpilogue::kReluGradientBias ||
            p.epilogue == ProductEpilogue::kGeluGradientBias) {
          gradient[static_cast<std::size_t>(row)] += value;
        }
        write_number(p.d_address, p.d.type, p.d.at(row, column, entry), value);
      }
    }
  }
  // BGRADA and BGRADB sum the factor along k.
  for (std::int64_t k = 0; k < depth(p); ++k) {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      if (p.epilogue == ProductEpilogue::kBiasGradientA) {
        gradient[i] += a[p.transpose_a ? p.a.at(k, place, 0) : p.a.at(place, k, 0)];
      } else if (p.epilogue == ProductEpilogue::kBiasGradientB) {
        gradient[i] += b[p.transpose_b ? p.b.at(place, k, 0) : p.b.at(k, place, 0)];
      }
    }
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    write_number(p.bias, bias_type(p), i, gradient[i]);
  }
}

}  // namespace plumb::stand_in
