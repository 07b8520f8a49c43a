"""Tests that need a cluster: real pods, real nested clusters, real HTTP through the Ingress."""
