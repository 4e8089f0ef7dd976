"""Where activations live. The tiers and the planner come later; training is handed a context manager."""
