"""Features beside the pass over a job: each is a folder or a module here, and a line in `job/guests.py`.

None knows another, and nothing else knows any of them. `nestor.operator.guest` has the moments in which they are asked.
"""
