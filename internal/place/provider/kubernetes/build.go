package kubernetes

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/podhost"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is in every pod of ours.
const (
	denDir       = "/.den"       // den's own directory: its binary, and the session with its log
	homeDir      = "/home/agent" // of the program; writable whatever the image is
	tmpDir       = "/tmp"
	agentName    = "agent" // the container that the session runs in
	installName  = "den"   // the init container that brings den
	denVolume    = "den"
	workVolume   = "work"
	defaultUser  = 1000
	graceSeconds = 30
	imageDen     = "/den" // den in its own image
)

// Den is the path of den in a pod.
const Den = denDir + "/bin/den"

// waitForDen is the first process of a pod into which den is copied. It needs a
// shell and sleep in the image.
const waitForDen = `until [ -x ` + denDir + `/bin/den ]; do sleep 0.1 2>/dev/null || sleep 1; done; exec ` + denDir + `/bin/den pod run ` + denDir

// recipe is all that a pod is made from.
type recipe struct {
	namespace string
	owner     string
	name      string // of the session
	workDir   string
	denImage  string // or "": den is copied in
	spec      Spec
}

// pod makes the pod. The same recipe gives the same pod.
func (r recipe) pod() (*corev1.Pod, error) {
	if r.spec.Image == "" {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "no image is named for the pod"), "set 'image' in [agents.kubernetes] or [session.kubernetes], or %s", envImage)
	}
	if !path.IsAbs(r.workDir) {
		return nil, fault.Errorf(fault.Usage, "working directory '%s' is not an absolute path", r.workDir)
	}
	resources, err := r.spec.resources()
	if err != nil {
		return nil, err
	}
	selector, err := stringMap(r.spec.NodeSelector)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "node_selector: %w", err)
	}
	volumes, mounts, err := r.volumes()
	if err != nil {
		return nil, err
	}
	grace, no := int64(graceSeconds), false
	token := r.spec.ServiceAccount != ""
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: podName(r.owner, r.name), Namespace: r.namespace,
			Labels:      map[string]string{managedLabel: managedValue, ownerLabel: ownerValue(r.owner)},
			Annotations: map[string]string{ownerNote: r.owner, nameNote: r.name},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever, // whoever keeps the agent decides that
			TerminationGracePeriodSeconds: &grace,
			EnableServiceLinks:            &no,
			ServiceAccountName:            r.spec.ServiceAccount,
			AutomountServiceAccountToken:  &token,
			NodeSelector:                  selector,
			Tolerations:                   r.spec.tolerations(),
			SecurityContext:               r.spec.podSecurity(),
			Volumes:                       volumes,
			Containers: []corev1.Container{{
				Name: agentName, Image: r.spec.Image, ImagePullPolicy: corev1.PullPolicy(r.spec.PullPolicy),
				Command: r.command(), WorkingDir: "/", Resources: resources, VolumeMounts: mounts,
				Env:             []corev1.EnvVar{{Name: "HOME", Value: homeDir}},
				SecurityContext: r.spec.security(),
			}},
		},
	}
	for _, name := range r.spec.PullSecrets {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if r.denImage != "" {
		p.Spec.InitContainers = []corev1.Container{r.installer()}
	}
	if p, err = merge(p, r.spec); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(p.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode pod: %w", err)
	}
	p.Annotations[specNote] = digest(string(raw), 16)
	return p, nil
}

func (r recipe) command() []string {
	if r.denImage == "" {
		return []string{"/bin/sh", "-c", waitForDen}
	}
	return []string{podhost.Place{Dir: denDir}.Binary(), podhost.Verb, podhost.ModeRun, denDir}
}

// installer is the init container that brings den.
func (r recipe) installer() corev1.Container {
	return corev1.Container{
		Name: installName, Image: r.denImage, ImagePullPolicy: corev1.PullPolicy(r.spec.PullPolicy),
		Command:         []string{imageDen, podhost.Verb, podhost.ModeInstall, denDir},
		VolumeMounts:    []corev1.VolumeMount{{Name: denVolume, MountPath: denDir}},
		SecurityContext: r.spec.security(),
	}
}

// resources are what the agent's container asks for and may use.
func (s Spec) resources() (corev1.ResourceRequirements, error) {
	r := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for _, part := range []struct {
		list  corev1.ResourceList
		name  corev1.ResourceName
		value string
	}{
		{r.Requests, corev1.ResourceCPU, s.CPU}, {r.Requests, corev1.ResourceMemory, s.Memory},
		{r.Limits, corev1.ResourceCPU, s.CPULimit}, {r.Limits, corev1.ResourceMemory, s.MemoryLimit},
	} {
		if part.value == "" {
			continue
		}
		q, err := quantity(part.value)
		if err != nil {
			return r, fault.Errorf(fault.Usage, "%s %q is not understood: %w", part.name, part.value, err)
		}
		part.list[part.name] = q
	}
	return r, nil
}

func (s Spec) tolerations() []corev1.Toleration {
	var all []corev1.Toleration
	for _, t := range s.Tolerations {
		all = append(all, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return all
}

// podSecurity makes the processes somebody without rights, unless the file says
// otherwise. The group may write to the pod's volumes.
func (s Spec) podSecurity() *corev1.PodSecurityContext {
	uid, gid := int64(defaultUser), int64(defaultUser)
	if s.User != nil {
		uid, gid = int64(s.User.UID), int64(s.User.GID)
	}
	nonRoot := uid != 0
	return &corev1.PodSecurityContext{
		RunAsUser: &uid, RunAsGroup: &gid, FSGroup: &gid, RunAsNonRoot: &nonRoot,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func (s Spec) security() *corev1.SecurityContext {
	no, readOnly := false, !s.WritableRoot
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   &readOnly,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// check refuses a volume that cannot be one.
func (v Volume) check() error {
	sources := 0
	for _, s := range []string{v.Claim, v.Secret, v.ConfigMap, v.HostPath} {
		if s != "" {
			sources++
		}
	}
	switch {
	case !path.IsAbs(v.Path) || path.Clean(v.Path) == "/":
		return fault.Errorf(fault.Usage, "a volume's 'path' %q is not an absolute path below the root", v.Path)
	case sources > 1:
		return fault.Errorf(fault.Usage, "the volume at %s has more than one source", v.Path)
	}
	return nil
}

func (v Volume) source() corev1.VolumeSource {
	switch {
	case v.Claim != "":
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.Claim, ReadOnly: v.ReadOnly}}
	case v.Secret != "":
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: v.Secret}}
	case v.ConfigMap != "":
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: v.ConfigMap}}}
	case v.HostPath != "":
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: v.HostPath}}
	}
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
}

// volumes are those of the file, and den's own where the file has none: the
// working directory, a home and a place for temporary files can always be
// written to.
func (r recipe) volumes() ([]corev1.Volume, []corev1.VolumeMount, error) {
	volumes := []corev1.Volume{{Name: denVolume, VolumeSource: Volume{}.source()}}
	mounts := []corev1.VolumeMount{{Name: denVolume, MountPath: denDir}}
	var covered []string
	add := func(name string, v Volume) {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: v.source()})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: path.Clean(v.Path), SubPath: v.SubPath, ReadOnly: v.ReadOnly})
		covered = append(covered, path.Clean(v.Path))
	}
	seen := map[string]bool{}
	for i, v := range r.spec.Volumes {
		if err := v.check(); err != nil {
			return nil, nil, err
		}
		if at := path.Clean(v.Path); !seen[at] { // Kubernetes refuses two at one path
			seen[at] = true
			add("volume-"+strconv.Itoa(i), v)
		}
	}
	files := slices.Clone(covered)
	for _, own := range []struct{ name, path string }{{"home", homeDir}, {"tmp", tmpDir}, {workVolume, path.Clean(r.workDir)}} {
		// A working directory below one of den's own volumes is not there by that.
		if !slices.Contains(covered, own.path) && !isBelowAny(own.path, files) {
			add(own.name, Volume{Path: own.path})
		}
	}
	return volumes, mounts, nil
}

// isBelowAny reports whether a path is one of the directories, or in one.
func isBelowAny(p string, dirs []string) bool {
	for _, dir := range dirs {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// merge puts the file's own pod template over what den made.
func merge(p *corev1.Pod, s Spec) (*corev1.Pod, error) {
	if s.Template.IsEmpty() {
		return p, nil
	}
	over, err := json.Marshal(s.Template)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "template: %w", err)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode pod: %w", err)
	}
	merged, err := mergeJSON(raw, over)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "template: %w", err)
	}
	out := &corev1.Pod{}
	if err := json.Unmarshal(merged, out); err != nil {
		return nil, fault.Errorf(fault.Usage, "template: %w", err)
	}
	// By these the pod is found again: no template changes them.
	out.Name, out.Namespace = p.Name, p.Namespace
	for key, value := range p.Labels {
		out.Labels[key] = value
	}
	for key, value := range p.Annotations {
		out.Annotations[key] = value
	}
	return out, nil
}

// stringMap reads a table of strings.
func stringMap(t interface {
	IsEmpty() bool
	MarshalJSON() ([]byte, error)
}) (map[string]string, error) {
	if t.IsEmpty() {
		return nil, nil
	}
	raw, err := t.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var m map[string]string
	return m, json.Unmarshal(raw, &m)
}

// mergeJSON puts one object over another: objects are merged key by key, null
// removes a key, and lists whose items have names, such as containers, volumes
// and variables, are merged item by item. Other lists and values are replaced.
func mergeJSON(base, over []byte) ([]byte, error) {
	var b, o map[string]any
	if err := json.Unmarshal(base, &b); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(over, &o); err != nil {
		return nil, err
	}
	return json.Marshal(mergeValue(b, o))
}

func mergeValue(base, over any) any {
	switch o := over.(type) {
	case map[string]any:
		b, ok := base.(map[string]any)
		if !ok {
			b = map[string]any{}
		}
		for key, value := range o {
			if value == nil {
				delete(b, key)
				continue
			}
			b[key] = mergeValue(b[key], value)
		}
		return b
	case []any:
		if b, ok := base.([]any); ok && named(b) && named(o) {
			return mergeNamed(b, o)
		}
	}
	return over
}

// named reports whether all items of a list are objects with a name.
func named(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { return nameOf(item) == "" })
}

func nameOf(item any) string {
	o, _ := item.(map[string]any)
	name, _ := o["name"].(string)
	if at, ok := o["mountPath"].(string); ok { // one volume may be at many paths
		name += "\x00" + at
	}
	return name
}

func mergeNamed(base, over []any) []any {
	for _, item := range over {
		if i := slices.IndexFunc(base, func(b any) bool { return nameOf(b) == nameOf(item) }); i >= 0 {
			base[i] = mergeValue(base[i], item)
		} else {
			base = append(base, item)
		}
	}
	return base
}
