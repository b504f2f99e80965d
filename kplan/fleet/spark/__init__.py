"""Spark itself: the session of a command, its Java process, and a server that commands share."""
