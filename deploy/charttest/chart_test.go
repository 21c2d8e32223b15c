// Package charttest lints and renders the chart with helm itself. It is a module
// of its own: helm brings more modules than den has.
package charttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const chart = "../chart"

type values = map[string]any

// render returns the chart's objects, by kind and name.
func render(t *testing.T, release string, v values) (map[string]values, error) {
	t.Helper()
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: release, Namespace: "agents", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	objects := map[string]values{}
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") {
			add(t, objects, name, text)
		}
	}
	return objects, nil
}

func add(t *testing.T, to map[string]values, file, text string) {
	t.Helper()
	for _, doc := range strings.Split(text, "\n---\n") {
		var o values
		if err := yaml.UnmarshalStrict([]byte(doc), &o); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, doc)
		}
		if len(o) > 0 && o["kind"] != "Kustomization" {
			to[o["kind"].(string)+" "+o["metadata"].(values)["name"].(string)] = o
		}
	}
}

// base reads the objects of the kustomize base.
func base(t *testing.T) map[string]values {
	t.Helper()
	files, err := filepath.Glob("../base/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]values{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		add(t, objects, file, string(text))
	}
	text, err := os.ReadFile("../base/den.toml")
	if err != nil {
		t.Fatal(err)
	}
	objects["ConfigMap den"] = values{"apiVersion": "v1", "kind": "ConfigMap", "metadata": values{"name": "den"}, "data": values{"den.toml": string(text)}}
	return objects
}

func TestLint(t *testing.T) {
	for _, v := range []values{{"image": "i:1"}, {"image": "i:1", "claim": values{"enabled": false}, "files": values{"p.md": "hello"}}, {"image": "i:1", "chat": values{"enabled": true, "secret": "s"}}} {
		for _, m := range lint.AllWithKubeVersion(chart, v, "agents", nil).Messages {
			if m.Severity > support.InfoSev { // an icon is recommended
				t.Errorf("%v: %v", v, m)
			}
		}
	}
}

// With its own values the chart makes what the kustomize base has, but for labels
// of helm's and the image.
func TestChartIsTheBase(t *testing.T) {
	got, err := render(t, "den", values{"image": "den"})
	if err != nil {
		t.Fatal(err)
	}
	want := base(t)
	pod(want["Deployment den"])["env"] = append(pod(want["Deployment den"])["env"].([]any), values{"name": "DEN_K8S_DEN_IMAGE", "value": "den"})
	for name, o := range want {
		g := got[name]
		if g == nil {
			t.Errorf("the chart has no %s", name)
			continue
		}
		delete(g["metadata"].(values), "labels")
		if !reflect.DeepEqual(plain(t, g), plain(t, o)) {
			t.Errorf("%s\nof the chart: %s\nof the base: %s", name, plain(t, g), plain(t, o))
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("the base has no %s", name)
	}
}

// plain is an object as text, with its keys in order.
func plain(t *testing.T, o values) string {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// pod is the keeper's container.
func pod(deployment values) values {
	return deployment["spec"].(values)["template"].(values)["spec"].(values)["containers"].([]any)[0].(values)
}

func TestValues(t *testing.T) {
	if _, err := render(t, "den", values{}); err == nil || !strings.Contains(err.Error(), "make image") {
		t.Errorf("without an image: %v", err)
	}
	file := "[workspace]\nname = \"x\"\n\n[[agents]]\nname = \"a\"\n"
	got, err := render(t, "crew", values{
		"image": "i:1", "replicas": 2, "workspace": file, "files": values{"a.md": "one\n\ntwo\n"}, "pullPolicy": "Never", "pullSecrets": []any{"s"},
		"claim": values{"existing": "old"}, "env": []any{values{"name": "A", "value": "b"}}, "hostNetwork": true, "networkPolicy": false, "args": []any{"--yes"},
		"nodeSelector": values{"k": "v"}, "tolerations": []any{values{"key": "gpu"}}, "podAnnotations": values{"n": "m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if data := got["ConfigMap crew"]["data"].(values); data["den.toml"] != file || data["a.md"] != "one\n\ntwo\n" {
		t.Errorf("the files are %q", data)
	}
	for _, name := range []string{"PersistentVolumeClaim crew", "NetworkPolicy crew-agents"} {
		if got[name] != nil {
			t.Errorf("there is a %s", name)
		}
	}
	text := plain(t, got["Deployment crew"])
	for _, want := range []string{
		`"replicas":2`, `"args":["--yes"]`, `"claimName":"old"`, `{"name":"A","value":"b"}`, `{"name":"DEN_LEASE","value":"crew"}`, `"hostNetwork":true`, `"imagePullPolicy":"Never"`,
		`"imagePullSecrets":[{"name":"s"}]`, `"nodeSelector":{"k":"v"}`, `"tolerations":[{"key":"gpu"}]`, `"annotations":{"n":"m"}`, `"image":"i:1"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if rules := plain(t, got["Role crew"]); !strings.Contains(rules, `"resourceNames":["crew"]`) {
		t.Errorf("the Role is for another lease: %s", rules)
	}
	if _, err := render(t, "den", values{"image": "i:1", "chat": values{"enabled": true}}); err == nil || !strings.Contains(err.Error(), "chat.secret") {
		t.Errorf("channels without a certificate: %v", err)
	}
	got, err = render(t, "den", values{"image": "i:1", "claim": values{"enabled": false}})
	if err != nil || !strings.Contains(plain(t, got["Deployment den"]), `{"emptyDir":{},"name":"state"}`) || got["PersistentVolumeClaim den"] != nil {
		t.Errorf("without a claim: %v", err)
	}
}

// The channels are a Service, of the keeper that listens.
func TestChat(t *testing.T) {
	got, err := render(t, "crew", values{"image": "i:1", "chat": values{"enabled": true, "secret": "cert", "port": 7000}})
	if err != nil {
		t.Fatal(err)
	}
	for name, all := range map[string][]string{
		"Service crew-chat": {`"port":7000`, `"targetPort":"chat"`, `"app.kubernetes.io/instance":"crew"`, `"type":"ClusterIP"`},
		"Deployment crew":   {`"containerPort":7000`, `"readinessProbe":{"tcpSocket":{"port":"chat"}}`, `"secretName":"cert"`, `"mountPath":"/etc/den-chat"`},
	} {
		for _, want := range all {
			if text := plain(t, got[name]); !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	}
}
