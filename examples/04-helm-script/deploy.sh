#!/bin/bash
set -ex
# The working directory is a writable copy of the image's templates folder.
cat > ./helm-values.yaml << 'EOF'
replicas: 1
greeting: Hello from a script with helm
text: The chart was in the app image, the values were written by the script.
EOF
helm upgrade --install web ./charts/web -f ./helm-values.yaml --wait --timeout 5m
