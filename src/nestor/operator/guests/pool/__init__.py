"""Clusters that are made before the jobs that get them: `decide`, which go and what is made; `member`, one; `keeper`, all."""
