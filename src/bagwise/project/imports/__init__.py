"""What comes into a project: bags, labels, classes, media files, segmented folders; and what is removed."""
