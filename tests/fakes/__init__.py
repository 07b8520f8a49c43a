"""What stands for other systems in unit tests."""
