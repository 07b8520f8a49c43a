"""The reader's pod: extracts the AppDef from an app image, which is mounted but never run. No API server, no plan."""
