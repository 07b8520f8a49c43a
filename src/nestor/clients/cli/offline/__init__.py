"""Validation without a cluster, by its own rules: the CRDs' schemas and CEL rules, and the AppDef's. Pure, but for files."""
