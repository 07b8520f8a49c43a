"""What Nestor's processes must agree on, one module per process: paths, keys, ports, exit codes, environment variables.

Belongs here: values that one process writes and another reads. Does not: anything that only one process needs.
"""
