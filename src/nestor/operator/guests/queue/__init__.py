"""Who of a class's jobs may run, and in which order the others wait.

`entry` reads a job, `needs` says what it counts for, `decide` says who starts and what each of the others waits for, and `words`
tells users; `queues` holds it all together and wakes whose turn has come. All but the last are pure.
"""
