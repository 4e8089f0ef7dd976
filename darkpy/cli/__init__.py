"""The command line: words become keyword arguments. Imports click, never torch."""
