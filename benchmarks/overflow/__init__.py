"""Overflowed pods: a real API server with its controllers, processes of virtual nodes, and a light interLink server behind them.

`python -m benchmarks.overflow [share] [size] [fleet] [demonstration]`; without names, all of them. The exit code is 1
if a goal is missed. docs/overflow.md says what the measures mean.
"""
