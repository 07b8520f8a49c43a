"""The activator: the operator tells it which hosts are asleep, and it tells the operator which of them somebody asks for."""

SERVICE = "nestor-activator"
"""Of the operator's namespace, as the chart makes it."""
SLEEPERS = "nestor-sleepers"
"""ConfigMap of the operator's namespace: for each host that is asleep its job, as namespace and name."""
CALLED = " is called"
"""What the activator appends to a job that is to wake."""
PORT = 8080
HEALTH_PORT = 8081
