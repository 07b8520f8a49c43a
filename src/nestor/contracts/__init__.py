"""What two of Nestor's processes must agree on, a module per process: paths, keys, ports, exit codes, environment variables.

Belongs here: a fact that one process writes and another one reads. Does not: anything that only one of them needs.
"""
