"""What to ask: criteria, granularity, cold start, exact selection, and the learner that asks and learns."""
