"""What Nestor's long-running processes have in common: how they end, and how they answer probes.

Belongs here: signals, background parts that must not end, pages for the kubelet. Does not: what any one of them works on.
"""
