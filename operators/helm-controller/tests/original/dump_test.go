package chart

// Writes what helm-controller makes of the charts in charts.json: see README.md.

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	v1 "github.com/k3s-io/helm-controller/pkg/apis/helm.cattle.io/v1"
	batch "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type given struct {
	Name    string                  `json:"name"`
	Deleted bool                    `json:"deleted"`
	Spec    v1.HelmChartSpec        `json:"spec"`
	Config  *v1.HelmChartConfigSpec `json:"config"`
	Secrets []map[string][]byte     `json:"secrets"`
}

type made struct {
	Name    string            `json:"name"`
	Job     map[string]any    `json:"job"`
	Values  *corev1.Secret    `json:"values"`
	Content *corev1.ConfigMap `json:"content"`
}

func TestDump(t *testing.T) {
	text, err := os.ReadFile(os.Getenv("CHARTS"))
	if err != nil {
		t.Fatal(err)
	}
	var charts []given
	if err := json.Unmarshal(text, &charts); err != nil {
		t.Fatal(err)
	}
	limits := `{"requests": {"cpu": "0.1", "memory": "10M"}, "limits": {"cpu": "32", "memory": "32G"}}`
	JobResources = &corev1.ResourceRequirements{}
	if err := json.Unmarshal([]byte(limits), JobResources); err != nil {
		t.Fatal(err)
	}
	var all []made
	for _, one := range charts {
		chart := v1.NewHelmChart("edge", one.Name, v1.HelmChart{Spec: one.Spec})
		if one.Deleted {
			now := metav1.NewTime(time.Unix(1, 0))
			chart.DeletionTimestamp = &now
		}
		job, values, content := job(chart, "6443")
		policy, serverSide, conflicts := v1.FailurePolicyReinstall, v1.ServerSideAuto, one.Spec.ForceConflicts
		if one.Spec.FailurePolicy != "" {
			policy = one.Spec.FailurePolicy
		}
		if one.Spec.ServerSide != "" {
			serverSide = one.Spec.ServerSide
		}
		var objects []metav1.Object
		if !one.Deleted {
			objects = append(objects, content, values)
			if one.Config != nil {
				config := &v1.HelmChartConfig{ObjectMeta: metav1.ObjectMeta{Name: one.Name}, Spec: *one.Config}
				valuesSecretAddConfig(job, values, config)
				if config.Spec.FailurePolicy != "" {
					policy = config.Spec.FailurePolicy
				}
				if config.Spec.ServerSide != "" {
					serverSide = config.Spec.ServerSide
				}
				if config.Spec.ForceConflicts != nil {
					conflicts = *config.Spec.ForceConflicts
				}
			}
			for _, data := range one.Secrets {
				objects = append(objects, &corev1.Secret{Data: data})
			}
		}
		limit := defaultBackOffLimit
		if one.Spec.BackOffLimit != nil {
			limit = one.Spec.BackOffLimit
		}
		setFailurePolicy(job, policy)
		setServerSide(job, serverSide)
		setForceConflicts(job, conflicts)
		setBackOffLimit(job, limit)
		hashObjects(job, objects...)
		all = append(all, made{one.Name, plain(t, job), values, content})
	}
	out, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("OBJECTS"), append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func plain(t *testing.T, job *batch.Job) map[string]any {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		t.Fatal(err)
	}
	return object
}
