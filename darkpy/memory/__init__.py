"""Mini-batches larger than the device: what backward needs is computed again, or waits in host memory."""
