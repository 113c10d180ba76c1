# SPDX-License-Identifier: Apache-2.0
"""Worker for PyTorch on the CPU: layers as single operators, and models from ONNX."""
