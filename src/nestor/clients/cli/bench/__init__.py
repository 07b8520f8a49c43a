"""`nestor bench`: a small app as jobs and directly on the host, in turns, and how much longer the jobs take.

Belongs here: what is applied (`app`), how one is timed (`measure`), and what the times come to (`figures`, pure).
"""
