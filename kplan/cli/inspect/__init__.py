"""Verbs for one part of a cluster: topics, groups, ACLs, quorum, brokers, tokens."""
