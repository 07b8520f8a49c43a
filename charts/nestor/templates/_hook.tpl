{{/* A Job that helm runs, and an account for it that is there only meanwhile. `root`, `name`, `event`; `rules`: its rights; `command`,
`args`: of its container, whose image is the operator's; `seconds`: its limit. */}}
{{- define "nestor.hook" -}}
{{- $name := printf "nestor-%s" .name }}
{{- $hook := dict "helm.sh/hook" .event "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" }}
{{- $rights := merge (dict "helm.sh/hook-weight" "-1" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded,hook-failed") $hook }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "nestor.labels" .root | nindent 4 }}
  annotations: {{- toYaml $rights | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  labels: {{- include "nestor.labels" .root | nindent 4 }}
  annotations: {{- toYaml $rights | nindent 4 }}
rules: {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels: {{- include "nestor.labels" .root | nindent 4 }}
  annotations: {{- toYaml $rights | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $name }}}
subjects:
  - {kind: ServiceAccount, name: {{ $name }}, namespace: {{ .root.Release.Namespace }}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "nestor.labels" .root | nindent 4 }}
  annotations: {{- toYaml (merge (dict "helm.sh/hook-output-log-policy" "hook-failed") $hook) | nindent 4 }}
spec:
  backoffLimit: {{ .retries | default 0 }}
  activeDeadlineSeconds: {{ .seconds }}
  template:
    metadata:
      labels: {{- toYaml (merge (dict "app.kubernetes.io/managed-by" .root.Release.Service "app.kubernetes.io/component" .name) .root.Values.commonLabels) | nindent 8 }}
    spec:
      serviceAccountName: {{ $name }}
      restartPolicy: Never
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets: {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: {{ .name }}
          image: {{ include "nestor.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          {{- with .command }}
          command: {{ . | toJson }}
          {{- end }}
          {{- with .args }}
          args: {{ . | toJson }}
          {{- end }}
          resources:
            requests: {cpu: 10m, memory: 64Mi}
            limits: {cpu: "1", memory: 256Mi}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
      {{- with .root.Values.operator.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.operator.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
