"""Whether one ranker is better than another: tests on paired queries, and many tests at once."""
