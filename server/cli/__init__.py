"""The command line: one file per group of commands, loaded when one of them is called."""
