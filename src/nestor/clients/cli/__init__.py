"""The user's command line, `nestor` and `kubectl nestor`: parses, asks the cluster, shows what it says.

Belongs here: commands, their output, offline validation, diagnosis. Does not: any rule of the operator; what a job means is read
from its status. No process of Nestor's own imports this package.
"""
