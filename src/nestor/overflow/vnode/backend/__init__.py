"""The backend itself: access to it, whether it answers, what machines it has.

Belongs here: what is about no single pod or node. Does not: what follows from that for one.
"""
