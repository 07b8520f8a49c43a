"""What jobs cost on the embedded cluster: time beside the same app without Nestor, processor time, memory; and how many at once.

`measure` runs it, `processes` attributes processor time and memory, `page` writes docs/evidence/speed.md and its picture (pure).
"""
