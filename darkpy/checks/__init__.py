"""What is wrong with a cfg or a data set, before a run begins: rules that give diagnostics."""
