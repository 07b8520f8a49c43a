"""What is wrong with an installation or a job: facts are read by `facts`, judged by the other modules, which are pure."""
