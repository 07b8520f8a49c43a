"""Jobs that nobody uses are put to sleep: held back as in a queue, while the activator answers at their URLs and has them woken.

`decide` says when, `keeper` does it.
"""
