"""Pods: `decide` says what to do about one pair of nested and host pod, the other modules each do one of these things."""
