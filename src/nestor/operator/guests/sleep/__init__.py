"""Jobs that nobody uses are put to sleep: suspended, while the activator answers at their URLs and has them woken.

`decide` says when, `keeper` does it. What the status says of it is recorded first, and acted on in the passes that follow.
"""
