"""The training loop, darknet's weight update and the learning rate."""
