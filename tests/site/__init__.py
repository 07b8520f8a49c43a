"""The documentation as a site, and what its tests read of it: blocks, commands, links."""
