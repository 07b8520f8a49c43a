"""A virtual Node: its status, and its Lease. The Node itself, its labels and taints are the operator's."""
