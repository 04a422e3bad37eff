"""What a project tells: status, quality, progress, review, exports."""
