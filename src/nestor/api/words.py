"""Words and numbers of the resources, for code that needs no model: importing the models takes longer than most commands."""

from typing import Literal

VERSION = "v1alpha1"
"""Version of the API group."""
NAME_LIMIT = 52
"""Characters of a job's name."""
HOST = "host"
"""The host cluster's own nodes, where places have names: a backend may not be called so."""
DEFAULT_TAINT = "virtual-kubelet.io/provider"
"""Key of the taint of virtual nodes. Its value is the name of the backend."""


Access = Literal["Everyone", "Permitted"]
VERB = "use"
"""What a Role allows on NestedClasses and NestedApps, by their names."""
