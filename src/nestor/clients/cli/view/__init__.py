"""What users see: states of jobs as lines for a terminal and as plain text. Pure: no I/O, no clock, no cluster."""
