"""Events, answers, corrections, and the replay that a project's model is."""
