{{- define "nestor.labels" -}}
{{- $own := dict
    "app.kubernetes.io/name" "nestor"
    "app.kubernetes.io/instance" .Release.Name
    "app.kubernetes.io/version" .Chart.AppVersion
    "app.kubernetes.io/managed-by" .Release.Service
    "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version) }}
{{- toYaml (merge $own .Values.commonLabels) }}
{{- end }}

{{- define "nestor.selector" -}}
app.kubernetes.io/name: nestor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Of what is in the release's namespace. Roles, policies and accounts have fixed names: policies name the accounts, and a cluster has
one Nestor. */}}
{{- define "nestor.fullname" -}}
{{ .Values.fullnameOverride | default "nestor" }}
{{- end }}

{{- define "nestor.image" -}}
{{ required "image.repository is required: the registry path of Nestor's image, for example registry.example.com/nestor" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}
