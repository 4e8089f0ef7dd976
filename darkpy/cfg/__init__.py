"""Text of .cfg, .data and .names files becomes typed values. Imports no torch."""
