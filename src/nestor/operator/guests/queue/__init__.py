"""Who of a class's jobs may run, and in which order the others wait.

`entry` reads a job, `decide` says who starts and what each of the others waits for: both are pure. `queues` holds it all together
and wakes whose turn has come.
"""
