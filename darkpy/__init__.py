"""darkpy: darknet's command line, files and numbers on PyTorch."""

__version__ = "0.1.0"
