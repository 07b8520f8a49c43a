"""The application's outcome: evaluates the NestedCluster's policies on nested objects and reports the result in its status.

Belongs here: when a job has succeeded or failed. What follows from that (ending, restarting) is up to the operator.
"""
