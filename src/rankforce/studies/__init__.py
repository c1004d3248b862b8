"""The pictures of the papers, made again on synthetic data: one module per paper."""
