"""Rankers that are PyTorch modules; nothing outside this folder imports PyTorch."""
