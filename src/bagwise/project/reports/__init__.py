"""Reports of a project: status, quality, progress, review, participation, exports."""
