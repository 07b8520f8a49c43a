"""Every request of the syncer, recorded; the re-plan of its engine is to change none of them (tests/integration/requests).

Each test is a scenario with a nested namespace and a host node of its own, and leaves no pod behind: so it is the same alone and
among the others.
"""
