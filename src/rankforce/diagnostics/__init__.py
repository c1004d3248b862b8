"""What the forces do: pure functions of scores, labels and objectives, and callbacks of them."""
