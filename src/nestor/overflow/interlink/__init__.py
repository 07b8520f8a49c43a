"""interLink as a backend: pods run wherever its plugin runs them. The protocol is described in `docs/interlink.openapi.yaml`.

Belongs here: the protocol's answers (`wire`); requests and their credentials (`client`, `credentials`, `settings`); what a pod
becomes on the wire (`build`, `env`, `files`; all pure); what is asked and what answers mean (`questions`; `statuses`
and `shapes`, which are pure); and the provider itself. Does not: reading ConfigMaps and Secrets, which the caller passes as
`Inputs`, and deciding what happens to a pod that the backend no longer knows.
"""
