"""Which ranker is better: metrics of several systems, query by query, and what they prove."""
