# SPDX-License-Identifier: Apache-2.0
"""Worker of a Python framework: the protocol, the method of measurement, and the interface of a backend."""
