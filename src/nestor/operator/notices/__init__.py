"""Notices: CloudEvents to the sinks of a job's class when the job becomes ready, succeeds or fails.

`due` decides which notices there are, and keeps them in the job's status; `event` builds the CloudEvent; `outbox` sends, apart
from all passes, and remembers what became of it until a pass writes that down; `post` is one HTTP request. Belongs here:
everything about telling others by HTTP. Does not: Kubernetes events, which `status` posts.
"""
