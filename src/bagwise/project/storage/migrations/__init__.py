"""Steps from every older schema to the present one; `versions/` has one file each."""
