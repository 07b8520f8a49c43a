#!/bin/bash
set -ex
# The working directory is the templates folder of the image; what is written here is this run's own.
cat > ./helm-values.yaml << 'EOF'
replicas: 1
greeting: Hello from a script with helm
text: The chart was in the app image, the values were written by the script.
EOF
helm upgrade --install web ./charts/web -f ./helm-values.yaml --wait --timeout 5m
