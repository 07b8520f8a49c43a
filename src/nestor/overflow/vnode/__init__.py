"""The process of a backend's virtual nodes: keeps their status and Leases, and runs the host pods bound to them at the backend.

`pods` has the life of a pod, `node` that of a Node, `identity` the certificates, `backend` what is known of the backend itself.
Belongs here: deciding what to ask of a backend, and telling the host's API server what came of it. Does not: any protocol of a
backend (`nestor.pods.providers`), the Node objects, and the approval of certificates (both `nestor.operator`).
"""
