"""The small HTTP server of Nestor's own processes, which has no framework: a connection is one exchange.

`connections` accepts and bounds them, `http` reads and answers a request, `pages` is what a process says of itself. To serve
something else, give `Connections` a function that reads a request and responds.
"""
