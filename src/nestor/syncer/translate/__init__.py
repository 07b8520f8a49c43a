"""Translates what only the syncer handles: Services, events and nodes. Pure, like `nestor.pods.translate`."""
