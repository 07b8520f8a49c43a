#!/bin/sh
# The job's only step. Helm puts the commit in; yours would have the image here that its build has pushed: registry.example.com/shop:{{ .Values.commit }}
set -eu
kubectl apply -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data:
  index.html: |
    <!DOCTYPE html>
    <html lang="en">
      <head><meta charset="utf-8"><title>Preview</title></head>
      <body><h1>Preview of commit {{ .Values.commit }}</h1></body>
    </html>
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {commit: "{{ .Values.commit }}"}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - name: web
          image: docker.io/library/busybox:1.35
          # As process 1, httpd would ignore SIGTERM; a shell that waits for it does not.
          command: [sh, -c, "trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait"]
          readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
          volumeMounts: [{name: www, mountPath: /www}]
      volumes: [{name: www, configMap: {name: page}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 8080}]
END
kubectl rollout status deployment/web --timeout=2m
