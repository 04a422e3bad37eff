"""The trainer of an open project, in a thread or in a process, and what it fits."""
