"""What the application came to: the policies of the NestedCluster, judged by nested objects, told in its status.

Belongs here: when a job is done or has failed. What follows from that (an end, a restart) is the operator's.
"""
