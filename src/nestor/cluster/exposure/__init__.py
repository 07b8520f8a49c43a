"""How a job's targets become URLs: host names, conflicts, Ingresses, and whether anything answers behind them.

Pure: the operator passes in what it observed. Belongs here: the rules of exposure. Does not: making the Services (the syncer's).
"""
