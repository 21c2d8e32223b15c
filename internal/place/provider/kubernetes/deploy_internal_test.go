package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"den/internal/keeper"
	"den/internal/place/workspace"

	"github.com/goccy/go-yaml"
	corev1 "k8s.io/api/core/v1"
)

const deployed = "../../../../deploy/base"

// object is one of a manifest.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Rules    []rule
	Spec     struct {
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     corev1.PodSpec
		}
	}
}

type rule struct{ Resources, ResourceNames, Verbs []string }

// manifests reads the objects of deploy/base, by kind and name.
func manifests(t *testing.T) map[string]object {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(deployed, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	all := map[string]object{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range strings.Split(string(text), "\n---\n") {
			raw, err := yaml.YAMLToJSON([]byte(doc))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			var o object
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[o.Kind+" "+o.Metadata.Name] = o
		}
	}
	return all
}

// The Role allows what the code asks for, and nothing else.
func TestRoleIsWhatIsAskedFor(t *testing.T) {
	all := manifests(t)
	for name, want := range map[string][]rule{
		"Role den": {
			{Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
			{Resources: []string{"pods/exec"}, Verbs: []string{"create", "get"}},
			{Resources: []string{"events"}, Verbs: []string{"list"}},
			{Resources: []string{"leases"}, Verbs: []string{"create"}},
			{Resources: []string{"leases"}, ResourceNames: []string{"den"}, Verbs: []string{"get", "update"}},
		},
		"Role den-user": {
			{Resources: []string{"leases"}, ResourceNames: []string{"den"}, Verbs: []string{"get"}},
			{Resources: []string{"pods/exec"}, Verbs: []string{"create", "get"}},
		},
	} {
		if got := all[name].Rules; !reflect.DeepEqual(got, want) {
			t.Errorf("%s allows %v, want %v", name, got, want)
		}
	}
}

// The keeper's pod is as the code expects it: den is found in it, it knows its
// lease and its name, it is confined, and it is not taken for an agent's.
func TestKeepersPod(t *testing.T) {
	d := manifests(t)["Deployment den"].Spec.Template
	if len(d.Spec.Containers) != 1 {
		t.Fatalf("%d containers", len(d.Spec.Containers))
	}
	c := d.Spec.Containers[0]
	if c.Name != KeeperContainer || c.Command[0] != "/dend" || imageDen != "/den" {
		t.Errorf("container %s runs %v", c.Name, c.Command)
	}
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
		if v.ValueFrom != nil {
			env[v.Name] = v.ValueFrom.FieldRef.FieldPath
		}
	}
	file := c.Command[slices.Index(c.Command, "-f")+1]
	for name, want := range map[string]string{keeper.LeaseMark: "den", "DEN_POD": "metadata.name", "DEN_WORKSPACE": file} {
		if env[name] != want {
			t.Errorf("%s=%q, want %q", name, env[name], want)
		}
	}
	if p := d.Spec.SecurityContext; p == nil || !*p.RunAsNonRoot || *p.FSGroup != *p.RunAsUser || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod's security is %+v", p)
	}
	if s := c.SecurityContext; s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container's security is %+v", s)
	}
	if d.Metadata.Labels[managedLabel] == managedValue {
		t.Error("the keeper's pod has the label of agents' pods")
	}
}

// The workspace that is deployed is one, and has ten agents in pods. The chart
// begins with the same.
func TestDeployedWorkspace(t *testing.T) {
	ws, err := workspace.Load(filepath.Join(deployed, "den.toml"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range ws.Agents {
		a := &ws.Agents[i]
		if _, problems := DecodeSpec(a); len(problems) > 0 || a.RunsIn != Kind {
			t.Errorf("agent '%s' in %s: %v", a.Name, a.RunsIn, problems)
		}
		n += len(a.Members(a.Pool.Min))
	}
	if n != 10 {
		t.Errorf("%d agents", n)
	}
	base, berr := os.ReadFile(filepath.Join(deployed, "den.toml"))
	chart, cerr := os.ReadFile(filepath.Join(deployed, "..", "chart", "den.toml"))
	if berr != nil || cerr != nil || string(base) != string(chart) {
		t.Errorf("the chart's workspace is not that of the base: %v, %v", berr, cerr)
	}
}
