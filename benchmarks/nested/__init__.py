"""What pods in nested clusters cost: time, memory and requests, beside what the host itself takes where that can be had."""
