"""One module per group of commands: it parses, asks, shows. Decisions and rendering are elsewhere, and pure."""
