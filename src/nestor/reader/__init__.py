"""What runs in the reader's pod: takes the AppDef out of an app image, which is mounted and never run. No API server, no plan."""
