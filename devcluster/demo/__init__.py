"""`make demo`: from nothing to a page that a job in a nested cluster serves, told as it happens. `make demo-overflow`: to a job
whose pods run in three places.

Belongs here: installing Nestor by its chart into a cluster of `devcluster.cluster`, running an example, saying what goes on. What
is said is decided by pure functions (`story`, `page`, `hints`); the rest only carries it out.
"""
