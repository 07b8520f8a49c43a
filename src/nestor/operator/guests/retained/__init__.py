"""Keeps the volumes and snapshots of jobs whose class says so, and gives volumes that were kept to later jobs that want them.

`keeper` keeps them, as long as they are not too much; `taken` says which of them a job gets, and gives it those.
"""
