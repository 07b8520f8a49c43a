"""What others have published, to be printed beside what is found."""

PUBLISHED = {"here": 7, "overflowed": 35}
"""Seconds of the shortest runs that aksjobscheduler's page names, with images that are near."""
