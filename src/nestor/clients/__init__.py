"""What people use: the command line (`cli`), its web page (`ui`), and that page in the cluster for many users (`portal`).
`activator` answers for jobs that are asleep.

They show what a status says and decide nothing. A command is a module of `cli/commands`, a page one of `ui/pages`.
"""
