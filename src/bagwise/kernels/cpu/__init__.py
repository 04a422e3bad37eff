"""The model's formulas as compiled loops on the CPU."""
