package kubernetes

import (
	"slices"
	"strings"
	"testing"

	"den/internal/base/fault"

	corev1 "k8s.io/api/core/v1"
)

func aRecipe() recipe {
	return recipe{namespace: "agents", owner: "city", name: "w-1", workDir: "/work/w-1", denImage: "den:1", spec: Spec{Image: "base:1"}}
}

func built(t *testing.T, r recipe) *corev1.Pod {
	t.Helper()
	p, err := r.pod()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPodIsConfinedByDefault(t *testing.T) {
	p := built(t, aRecipe())
	c := p.Spec.Containers[0]
	for what, ok := range map[string]bool{
		"not root":                p.Spec.SecurityContext.RunAsNonRoot != nil && *p.Spec.SecurityContext.RunAsNonRoot && *p.Spec.SecurityContext.RunAsUser == defaultUser,
		"a seccomp profile":       p.Spec.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"no escalation":           c.SecurityContext.AllowPrivilegeEscalation != nil && !*c.SecurityContext.AllowPrivilegeEscalation,
		"no capabilities":         slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"a read-only root":        *c.SecurityContext.ReadOnlyRootFilesystem,
		"no token":                p.Spec.AutomountServiceAccountToken != nil && !*p.Spec.AutomountServiceAccountToken,
		"no service links":        p.Spec.EnableServiceLinks != nil && !*p.Spec.EnableServiceLinks,
		"no restarts":             p.Spec.RestartPolicy == corev1.RestartPolicyNever,
		"no variables of ours":    len(c.Env) == 1 && c.Env[0].Name == "HOME",
		"the installer confined":  *p.Spec.InitContainers[0].SecurityContext.ReadOnlyRootFilesystem,
		"no privileged container": c.SecurityContext.Privileged == nil,
	} {
		if !ok {
			t.Errorf("the pod has not: %s", what)
		}
	}
}

func TestPodKnowsWhoseItIs(t *testing.T) {
	r := aRecipe()
	r.owner, r.name = "größe/city", "a/b ü"
	r.spec.Template = table(t, `template = {metadata = {labels = {"den/owner" = "other", team = "x"}, annotations = {"den/session" = "other"}, name = "other"}}`)
	p := built(t, r)
	if p.Name != podName(r.owner, r.name) || p.Labels[ownerLabel] != ownerValue(r.owner) || p.Annotations[ownerNote] != r.owner || p.Annotations[nameNote] != r.name {
		t.Errorf("a template changed whose pod it is: %s %v %v", p.Name, p.Labels, p.Annotations)
	}
	if p.Labels["team"] != "x" {
		t.Errorf("a template's label is missing: %v", p.Labels)
	}
}

func TestPodNames(t *testing.T) {
	seen := map[string]string{}
	for _, owner := range []string{"city", "city.b", "größe"} {
		for _, name := range []string{"a.b", "a:b", "a/b", "a-b", "A-b", "..", "-a", "名前", strings.Repeat("long-", 39) + "1", strings.Repeat("long-", 39) + "2"} {
			pod := podName(owner, name)
			if other, ok := seen[pod]; ok {
				t.Errorf("%s is the pod of %q and of %q", pod, other, name)
			}
			seen[pod] = owner + " " + name
			if len(pod) > maxLabel || strings.Trim(pod, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasSuffix(pod, "-") || strings.Contains(pod, "--") {
				t.Errorf("%q is no name of a pod", pod)
			}
		}
		if v := ownerValue(owner); !labelValue().MatchString(v) || len(v) > maxLabel {
			t.Errorf("%q is no value of a label", v)
		}
	}
	if ownerValue("x-1") == "x-1" {
		t.Error("an owner that looks like a digest is taken as it is")
	}
}

func mountOf(p *corev1.Pod, path string) (corev1.VolumeMount, corev1.Volume, bool) {
	for _, m := range p.Spec.Containers[0].VolumeMounts {
		if m.MountPath == path {
			i := slices.IndexFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
			return m, p.Spec.Volumes[i], true
		}
	}
	return corev1.VolumeMount{}, corev1.Volume{}, false
}

func TestPodVolumes(t *testing.T) {
	r := aRecipe()
	r.spec.Volumes = []Volume{
		{Path: "/data/", Claim: "claim"}, {Path: "/keys", Secret: "secret", ReadOnly: true}, {Path: "/etc/conf", ConfigMap: "map", SubPath: "a"},
		{Path: "/host", HostPath: "/srv"}, {Path: "/scratch"}, {Path: "/scratch"},
	}
	p := built(t, r)
	for path, ok := range map[string]func(corev1.VolumeMount, corev1.Volume) bool{
		"/data":     func(_ corev1.VolumeMount, v corev1.Volume) bool { return v.PersistentVolumeClaim.ClaimName == "claim" },
		"/keys":     func(m corev1.VolumeMount, v corev1.Volume) bool { return v.Secret.SecretName == "secret" && m.ReadOnly },
		"/etc/conf": func(m corev1.VolumeMount, v corev1.Volume) bool { return v.ConfigMap.Name == "map" && m.SubPath == "a" },
		"/host":     func(_ corev1.VolumeMount, v corev1.Volume) bool { return v.HostPath.Path == "/srv" },
		"/scratch":  func(_ corev1.VolumeMount, v corev1.Volume) bool { return v.EmptyDir != nil },
		"/work/w-1": func(_ corev1.VolumeMount, v corev1.Volume) bool { return v.EmptyDir != nil },
		tmpDir:      func(_ corev1.VolumeMount, v corev1.Volume) bool { return v.EmptyDir != nil },
		homeDir:     func(_ corev1.VolumeMount, v corev1.Volume) bool { return v.EmptyDir != nil },
		denDir:      func(_ corev1.VolumeMount, v corev1.Volume) bool { return v.EmptyDir != nil },
	} {
		if m, v, found := mountOf(p, path); !found || !ok(m, v) {
			t.Errorf("at %s there is %+v (%v)", path, v, found)
		}
	}
	if n := len(p.Spec.Containers[0].VolumeMounts); n != 9 {
		t.Errorf("%d mounts, want 9: each path once", n)
	}
	r.workDir = "/data/deep/w-1"
	if _, _, found := mountOf(built(t, r), r.workDir); found {
		t.Error("a working directory on a volume is hidden by an empty one")
	}
}

func TestPodFields(t *testing.T) {
	r := aRecipe()
	r.spec = Spec{
		Image: "base:1", PullPolicy: "Never", PullSecrets: []string{"registry"}, CPU: "500m", Memory: "1Gi", CPULimit: "2", MemoryLimit: "4Gi",
		ServiceAccount: "agent", Tolerations: []Toleration{{Key: "gpu", Operator: "Exists", Effect: "NoSchedule"}}, User: &User{UID: 0, GID: 0}, WritableRoot: true,
		NodeSelector: table(t, `template = {disk = "ssd"}`),
		Template: table(t, `template = {spec = {hostNetwork = true, enableServiceLinks = true, containers = [
			{name = "agent", env = [{name = "HOME", value = "/root"}, {name = "MORE", value = "1"}]}, {name = "side", image = "side:1"}]}}`),
	}
	p := built(t, r)
	c := p.Spec.Containers[0]
	for what, ok := range map[string]bool{
		"image":                c.Image == "base:1" && c.ImagePullPolicy == corev1.PullNever && p.Spec.InitContainers[0].Image == "den:1",
		"pull secrets":         len(p.Spec.ImagePullSecrets) == 1 && p.Spec.ImagePullSecrets[0].Name == "registry",
		"requests":             c.Resources.Requests.Cpu().String() == "500m" && c.Resources.Requests.Memory().String() == "1Gi",
		"limits":               c.Resources.Limits.Cpu().String() == "2" && c.Resources.Limits.Memory().String() == "4Gi",
		"service account":      p.Spec.ServiceAccountName == "agent" && *p.Spec.AutomountServiceAccountToken,
		"node selector":        p.Spec.NodeSelector["disk"] == "ssd",
		"tolerations":          len(p.Spec.Tolerations) == 1 && p.Spec.Tolerations[0].Key == "gpu",
		"root, as asked for":   *p.Spec.SecurityContext.RunAsUser == 0 && !*p.Spec.SecurityContext.RunAsNonRoot,
		"a writable root":      !*c.SecurityContext.ReadOnlyRootFilesystem,
		"the template's field": p.Spec.HostNetwork && *p.Spec.EnableServiceLinks,
		"the template's variables": len(c.Env) == 2 && c.Env[0].Value == "/root" && c.Env[1].Name == "MORE" &&
			len(c.Command) > 0, // and the rest of the container stays
		"the template's container": len(p.Spec.Containers) == 2 && p.Spec.Containers[1].Name == "side",
	} {
		if !ok {
			t.Errorf("not as asked for: %s", what)
		}
	}
}

func TestPodRefuses(t *testing.T) {
	for what, change := range map[string]func(*recipe){
		"no image":               func(r *recipe) { r.spec.Image = "" },
		"a relative directory":   func(r *recipe) { r.workDir = "w" },
		"a bad quantity":         func(r *recipe) { r.spec.CPU = "lots" },
		"a negative quantity":    func(r *recipe) { r.spec.MemoryLimit = "-1Gi" },
		"a volume at the root":   func(r *recipe) { r.spec.Volumes = []Volume{{Path: "/"}} },
		"a volume of two kinds":  func(r *recipe) { r.spec.Volumes = []Volume{{Path: "/a", Claim: "c", Secret: "s"}} },
		"a template that is not": func(r *recipe) { r.spec.Template = table(t, `template = {spec = {containers = "x"}}`) },
		"a selector that is not": func(r *recipe) { r.spec.NodeSelector = table(t, `template = {a = {b = 1}}`) },
	} {
		r := aRecipe()
		change(&r)
		if _, err := r.pod(); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A pod that was prepared is used only for what it was made for.
func TestPodDigest(t *testing.T) {
	one := built(t, aRecipe())
	if two := built(t, aRecipe()); two.Annotations[specNote] != one.Annotations[specNote] {
		t.Error("one recipe makes two pods")
	}
	other := aRecipe()
	other.spec.Memory = "1Gi"
	if two := built(t, other); two.Annotations[specNote] == one.Annotations[specNote] {
		t.Error("two recipes make one pod")
	}
}

func TestDenIsCopiedWithoutItsImage(t *testing.T) {
	r := aRecipe()
	r.denImage = ""
	p := built(t, r)
	if len(p.Spec.InitContainers) != 0 || p.Spec.Containers[0].Command[0] != "/bin/sh" {
		t.Errorf("without den's image: %v %v", p.Spec.InitContainers, p.Spec.Containers[0].Command)
	}
}

func TestDefaults(t *testing.T) {
	env := map[string]string{envImage: "env:1", envCPURequest: "1", envMemLimit: "2Gi", envServiceAccount: "sa", envNamespace: "ns", envContext: "ctx", envDenImage: "den:2"}
	getenv := func(k string) string { return env[k] }
	s := Spec{CPU: "2"}.withDefaults(Cluster{}, getenv)
	if s.Image != "env:1" || s.CPU != "2" || s.MemoryLimit != "2Gi" || s.ServiceAccount != "sa" {
		t.Errorf("spec %+v", s)
	}
	if s := (Spec{}).withDefaults(Cluster{Image: "file:1"}, getenv); s.Image != "file:1" {
		t.Errorf("image %s, want that of the file", s.Image)
	}
	if c := (Cluster{Context: "mine"}).withDefaults(getenv); c.Context != "mine" || c.Namespace != "ns" || c.DenImage != "den:2" {
		t.Errorf("cluster %+v", c)
	}
}

// A working directory is there, and can be written to, wherever it is.
func TestWorkingDirectoryIsThere(t *testing.T) {
	for dir, want := range map[string]int{"/work/w": 1, "/tmp/x/w": 1, homeDir + "/w": 1, "/tmp": 1, "/data": 1, "/data/w": 0} {
		r := aRecipe()
		r.workDir, r.spec.Volumes = dir, []Volume{{Path: "/data", Claim: "data"}}
		n := 0
		for _, m := range built(t, r).Spec.Containers[0].VolumeMounts {
			if m.MountPath == dir {
				n++
			}
		}
		if n != want {
			t.Errorf("%d volumes at %s, want %d", n, dir, want)
		}
	}
}
