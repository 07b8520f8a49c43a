"""How a job's first target becomes a URL: host name, conflicts, Ingress, and whether anything answers behind it.

Pure: the operator passes in what it observed. Belongs here: the rules of exposure. Does not: making the Service (the syncer's).
"""
