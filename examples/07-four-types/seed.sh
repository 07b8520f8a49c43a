#!/bin/bash
set -euo pipefail
# GREETING is a parameter of the command: `"variable": true` makes it an environment variable of scripts.
kubectl rollout status deployment/database --timeout=2m
password=$(kubectl get secret database -o json | jq -r '.data.password | @base64d')
kubectl exec -i deployment/database -- redis-cli --no-auth-warning -a "$password" -x set greeting < <(printf %s "$GREETING")
