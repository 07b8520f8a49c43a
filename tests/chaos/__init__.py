"""An hour of faults: users act at random, what Nestor runs on fails at random, and a model says what users may expect."""
