"""Whether the host enforces network policies, the walls of all jobs: found out by a probe, said in the classes' status."""
