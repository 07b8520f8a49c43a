"""The probe of network policies: two pods, one that listens and one that calls it."""
