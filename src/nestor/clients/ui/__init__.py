"""`nestor ui`: a web page for people without kubectl, served from the user's own machine with the user's own rights.

Layers, each of which knows only those below: `command` (how it is started) · `server` (routes) · `pages` · `frame` (what all
pages need: templates, errors, live updates) · `guard` (who may talk to it), `visitor` (who looks, and shared watches), `words` ·
`models` (what a page shows, pure). Nothing here decides what a user may do: the API server does, and says so.
"""
