"""One file per page: what it looks at, and what its forms do."""
