"""One file a verb: builds, connects and runs."""
