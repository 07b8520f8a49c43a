set -eu
kubectl wait "job/estimate-$PODS" --for=condition=Complete --timeout=10m
kubectl logs -l "job-name=estimate-$PODS" --tail=-1 > parts
hits=0 points=0
while read -r hit point; do
  hits=$((hits + hit)) points=$((points + point))
done < parts
pi=$((400000 * hits / points))
result=$(printf '%d.%05d, by %d random points of %d pods' $((pi / 100000)) $((pi % 100000)) "$points" "$PODS")
echo "$result"
kubectl create configmap page --from-literal=index.html="<!DOCTYPE html><title>Pi</title><h1>Pi is about $result</h1>" \
  --dry-run=client -o yaml | kubectl apply -f -
