package kubernetes

import (
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/workspace"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Kind is the name of this provider in a workspace file.
const Kind = "kubernetes"

// Spec is what one session's pod is made of. It is the `kubernetes` table of an
// agent in the workspace file, and the Options of a provider.Config.
type Spec struct {
	Image       string   `key:"image"`        // or "": that of the provider
	PullPolicy  string   `key:"pull_policy"`  // Always, IfNotPresent, Never or ""
	PullSecrets []string `key:"pull_secrets"` // for the images

	CPU         string `key:"cpu"`          // requests, such as "500m"
	Memory      string `key:"memory"`       // such as "1Gi"
	CPULimit    string `key:"cpu_limit"`    //
	MemoryLimit string `key:"memory_limit"` //

	ServiceAccount string          `key:"service_account"` // its token is in the pod then; "" means none
	NodeSelector   workspace.Table `key:"node_selector"`   // label to value
	Tolerations    []Toleration    `key:"tolerations"`
	Volumes        []Volume        `key:"volumes"`

	User         *User `key:"user"`          // or nil: an unprivileged one
	WritableRoot bool  `key:"writable_root"` // the image's own files can be changed

	// Template is a pod as Kubernetes has it: metadata and spec. It is merged
	// last, over all that den makes.
	Template workspace.Table `key:"template"`
}

// User is who a pod's processes are.
type User struct {
	UID int `key:"uid"`
	GID int `key:"gid"`
}

// Toleration lets a pod onto tainted nodes.
type Toleration struct {
	Key      string `key:"key"`
	Operator string `key:"operator"` // Exists, Equal or ""
	Value    string `key:"value"`
	Effect   string `key:"effect"`
}

// Volume is something that a pod has at a path. One of its sources is set, or
// none for a directory that is empty at first.
type Volume struct {
	Path      string `key:"path"`
	Claim     string `key:"claim"` // a PersistentVolumeClaim
	Secret    string `key:"secret"`
	ConfigMap string `key:"config_map"`
	HostPath  string `key:"host_path"` // a directory of the node
	SubPath   string `key:"sub_path"`  // below the source
	ReadOnly  bool   `key:"read_only"`
}

// specOf returns the pod's part of a session's configuration.
func specOf(c provider.Config) (Spec, error) {
	s, ok := c.Options.(Spec)
	if !ok {
		return Spec{}, fault.Errorf(fault.Usage, "no pod is described: the session's options are %T", c.Options)
	}
	return s, nil
}

// DecodeSpec reads an agent's `kubernetes` table.
func DecodeSpec(a *workspace.Agent) (Spec, workspace.Problems) {
	var s Spec
	t := a.Tables.Kubernetes
	problems := t.Decode(&s)
	problems = append(problems, t.OneOf("pull_policy", s.PullPolicy, "", "Always", "IfNotPresent", "Never")...)
	for key, value := range map[string]string{"cpu": s.CPU, "memory": s.Memory, "cpu_limit": s.CPULimit, "memory_limit": s.MemoryLimit} {
		if _, err := quantity(value); err != nil {
			problems = append(problems, t.Problem(key, "agent '%s': '%s' is such as \"500m\" or \"1Gi\", not \"%s\"", a.Name, key, value))
		}
	}
	for _, v := range s.Volumes {
		if err := v.check(); err != nil {
			problems = append(problems, t.Problem("volumes", "agent '%s': %v", a.Name, err))
		}
	}
	return s, problems
}

// quantity reads an amount of a resource. "" is zero.
func quantity(s string) (resource.Quantity, error) {
	if s == "" {
		return resource.Quantity{}, nil
	}
	q, err := resource.ParseQuantity(s)
	if err == nil && q.Sign() < 0 {
		err = fault.Errorf(fault.Usage, "%q is negative", s)
	}
	return q, err
}

// Cluster says which cluster and where in it. It is the `kubernetes` table of the
// file's [session] section.
type Cluster struct {
	Kubeconfig workspace.Path `key:"kubeconfig"` // or "": KUBECONFIG, ~/.kube/config, or the cluster that den runs in
	Context    string         `key:"context"`    // or "": the current one
	Namespace  string         `key:"namespace"`  // or "": that of the context
	Image      string         `key:"image"`      // of agents that name none
	DenImage   string         `key:"den_image"`  // has den; "" means that den is copied into pods
}

// DecodeCluster reads the session section's `kubernetes` table.
func DecodeCluster(t workspace.Table) (Cluster, workspace.Problems) {
	var c Cluster
	return c, t.Decode(&c)
}

// The environment variables that stand in for what the file leaves out.
const (
	envContext        = "DEN_K8S_CONTEXT"
	envNamespace      = "DEN_K8S_NAMESPACE"
	envImage          = "DEN_K8S_IMAGE"
	envDenImage       = "DEN_K8S_DEN_IMAGE"
	envCPURequest     = "DEN_K8S_CPU_REQUEST"
	envMemRequest     = "DEN_K8S_MEM_REQUEST"
	envCPULimit       = "DEN_K8S_CPU_LIMIT"
	envMemLimit       = "DEN_K8S_MEM_LIMIT"
	envServiceAccount = "DEN_K8S_SERVICE_ACCOUNT"
)

// Variables are those by which a cluster is found where the file does not name
// one.
var Variables = []string{"KUBECONFIG", envContext, envNamespace, "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}

// withDefaults fills in what the file leaves out.
func (s Spec) withDefaults(c Cluster, getenv func(string) string) Spec {
	orElse(&s.Image, c.Image)
	orElse(&s.Image, getenv(envImage))
	orElse(&s.CPU, getenv(envCPURequest))
	orElse(&s.Memory, getenv(envMemRequest))
	orElse(&s.CPULimit, getenv(envCPULimit))
	orElse(&s.MemoryLimit, getenv(envMemLimit))
	orElse(&s.ServiceAccount, getenv(envServiceAccount))
	return s
}

func (c Cluster) withDefaults(getenv func(string) string) Cluster {
	orElse(&c.Context, getenv(envContext))
	orElse(&c.Namespace, getenv(envNamespace))
	orElse(&c.DenImage, getenv(envDenImage))
	return c
}

func orElse(to *string, value string) {
	if *to == "" {
		*to = value
	}
}
