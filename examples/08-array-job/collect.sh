#!/bin/bash
# Waits for a Job and keeps the logs of its pods in a ConfigMap: step `parts` those of `work`, step `results` that of `merge`.
set -euo pipefail
case $NESTOR_STEP in parts) job=work ;; results) job=merge ;; esac
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
for condition in Complete Failed; do
  kubectl wait "job/$job" "--for=condition=$condition" --timeout=23h > /dev/null 2>&1 &
done
wait -n || true
case $(kubectl get "job/$job" -o jsonpath='{.status.conditions[?(@.status=="True")].type}') in
  *Complete*) ;;
  *Failed*)
    echo "Job '$job' has failed; failed parts: $(kubectl get "job/$job" -o jsonpath='{.status.failedIndexes}')"
    exit 1
    ;;
  *)
    echo "Job '$job' is not done yet"
    exit 1
    ;;
esac
rm -rf collected # of an earlier step
mkdir collected
kubectl get pods -l "batch.kubernetes.io/job-name=$job" --field-selector=status.phase=Succeeded -o \
  'jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations.batch\.kubernetes\.io/job-completion-index}{"\n"}{end}' > pods
while read -r pod index; do
  kubectl logs "$pod" > log
  [ "$(tail -c 7 log; echo .)" = $'\n# end\n.' ] || { echo "the log of pod '$pod' is not whole yet"; exit 1; }
  [ -n "$index" ] && key=part-$index || key=all
  head -c -7 log > "collected/$key"
done < pods
found=$(ls collected | wc -l) wanted=$(kubectl get "job/$job" -o jsonpath='{.spec.completions}')
[ "$found" -eq "$wanted" ] || { echo "only $found of $wanted pods of Job '$job' are still there"; exit 1; }
kubectl create configmap "$NESTOR_STEP" --from-file=collected --dry-run=client -o yaml | kubectl apply --server-side -f -
[ "$NESTOR_STEP" = parts ] || cat collected/all # the log of the step outlives the cluster
