"""Tests that need the embedded cluster: real pods, real nested clusters, real HTTP through the Ingress."""
