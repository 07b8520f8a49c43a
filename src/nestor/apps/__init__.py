"""Applications: what an AppDef means, and how it is installed.

`steps` reads an AppDef into a plan and decides which state follows which: pure. `runner` executes the plan in the nested
cluster, in a pod of its own. `reader` extracts the AppDef from an image. A step type is a row in `steps/types.py` and one in
`runner/types.py`.
"""
