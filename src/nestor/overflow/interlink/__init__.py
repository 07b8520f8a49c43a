"""interLink as a backend: pods run wherever its plugin runs them. The protocol is described in `docs/interlink.openapi.yaml`.

Belongs here: the protocol's messages (`wire`); requests and their credentials (`client`, `tokens`, `tls`, `settings`); what a pod
becomes on the wire (`build`, `env`, `fields`, `files`, `refusals`; all pure); what answers mean (`answers`, and for statuses
`containers`, `reduce` and `phase`, for shapes `discovery` and `nunet`; all pure); what only time tells (`fates` of requests,
`endings` of pods); `questions`, and the provider itself. Does not: reading ConfigMaps and Secrets, which the caller passes as
`Inputs`, and deciding what happens to a pod that the backend no longer knows.
"""
