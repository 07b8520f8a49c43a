"""The pages of `nestor ui` in the cluster, behind an authenticating proxy of the admin's, in the name of whoever the proxy says.

It listens on loopback, where only the containers of its own pod are, and has no rights but to impersonate the users and groups
that the admin has listed. What these may do is the API server's to say.
"""
