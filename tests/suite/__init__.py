"""What a run of the tests consists of, and what it cost.

`phases` runs targets of the Makefile one after the other and prints what each took. `groups` says which tests a changed folder
wants besides those that `make test` always runs, `core` which end-to-end tests these are.
"""
