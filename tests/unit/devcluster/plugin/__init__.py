"""The interLink plugin for tests: what it makes of pods, and what it answers."""
