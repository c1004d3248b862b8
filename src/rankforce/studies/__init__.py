"""The pictures of the papers, made again on made-up data: one module per paper."""
