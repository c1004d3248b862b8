"""What a ranking is worth: metrics, their names, and many of them over one ranking."""
