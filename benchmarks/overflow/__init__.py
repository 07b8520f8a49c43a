"""Overflowed pods: a real API server with its controllers, processes of virtual nodes, and a light interLink server behind them.

`python -m benchmarks.overflow [share] [size] [fleet] [demonstration]`; without names, all of them.
"""
