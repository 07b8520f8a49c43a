"""Who of a class's jobs may run, and in which order the others wait.

`order` decides, `entry` reads a job, `room` and `line` keep the order up to date with little work per change, `needs` says what a
job counts for, and `queues` holds it all together and tells whose turn has come. All but the last are pure.
"""
