"""Many jobs at one operator: a real API server with its controllers, and players for nodes and nested clusters."""
