"""Skills out of what successful episodes have in common."""
