"""One page about runs that opens from disk: what is in it, and how it is written."""
