"""What users write and read, and the words that all wings share. No I/O.

Models of the resources (`nestedappjob`, `nestedclass`, `overflowbackend`) and of their parts, `conditions` and `labels`, each in
one place; `names` of objects; `contracts`, what two processes agree on; `objects`, `quantities` and `times`, as Kubernetes writes
them. To change a field, go to its model, then run `make crds`; to change a condition's words, go to `conditions`.
"""
