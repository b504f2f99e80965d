"""Authorizer logs: files and topics, layouts, the requests in them, and what a store keeps."""
