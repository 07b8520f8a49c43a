"""What users write and read: the resources, their labels, their conditions. No I/O."""
