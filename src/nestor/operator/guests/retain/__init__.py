"""Volumes and snapshots that outlive their job, where its class says so, and how many of them may be left."""
