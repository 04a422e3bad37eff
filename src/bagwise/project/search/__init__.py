"""Finding bags without being asked: the nearest instances of the pool, and a map of all of them."""
