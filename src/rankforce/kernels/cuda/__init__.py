"""Kernels for NVIDIA GPUs: CUDA C++ that CuPy compiles when it is first used, and its launchers."""
