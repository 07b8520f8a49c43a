"""What Nestor's long-running processes have in common: how they end, what they log, and how they describe themselves.

Belongs here: signals, background parts that must not end, metrics. Does not: what any one of them works on.
"""
