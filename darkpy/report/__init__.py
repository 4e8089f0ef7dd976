"""Events become one kind of output each."""
