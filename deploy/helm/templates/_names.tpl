{{- /* Labels of every object, and those that choose the operator's pods. */ -}}
{{- define "tare.labels" -}}
app.kubernetes.io/name: tare
app.kubernetes.io/part-of: tare
{{- end }}

{{- define "tare.pods" -}}
app.kubernetes.io/component: operator
app.kubernetes.io/name: tare
{{- end }}

{{- define "tare.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* What the operator may do with its objects: the rules of deploy/base/rbac.yaml that have a namespace. */ -}}
{{- define "tare.rules" -}}
- apiGroups: [tare.dev]
  resources: [edgeapps]
  verbs: [get, list, watch, patch]
- apiGroups: [tare.dev]
  resources: [edgeapps/status]
  verbs: [patch]
- apiGroups: [tare.dev]
  resources: [edgeapps/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end }}
