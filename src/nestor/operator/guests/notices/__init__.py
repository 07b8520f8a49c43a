"""Notices: CloudEvents to the sinks of a job's class. `due` decides which are due; `outbox` sends them, apart from all passes."""
