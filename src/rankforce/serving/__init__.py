"""Models behind HTTP: documents in, rankings out."""
