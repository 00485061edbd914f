"""The way to a remote libSQL database (Turso, sqld): a process beside the hub that moves batches of events."""
