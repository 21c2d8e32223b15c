package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"

	"den/internal/base/fault"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
)

// client speaks with the API server about pods and their events, and about
// nothing else: that is all that a Role must allow.
type client struct {
	config    *rest.Config
	rest      *rest.RESTClient
	params    runtime.ParameterCodec
	namespace string
	container string // in which commands are run
	selector  string // of the owner's pods
}

// Requests a second that one provider may make, and how many at once after a
// silence. A start is five.
const (
	requestRate  = 50
	requestBurst = 100
)

// quiet keeps the module's own messages from the keeper's log: what matters of
// them is in errors, and streams that are closed on purpose are among them.
var quiet = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

// connect reads the configuration. Nothing is asked yet.
func connect(c Cluster, owner string, getenv func(string) string) (*client, error) {
	config, namespace, err := Config(c, getenv)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.APIPath = "/api"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.UserAgent = "dend"
	config.QPS, config.Burst = requestRate, requestBurst
	api, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "use the cluster's configuration: %w", err)
	}
	return &client{
		config: config, rest: api, params: runtime.NewParameterCodec(scheme), namespace: namespace, container: agentName,
		selector: managedLabel + "=" + managedValue + "," + ownerLabel + "=" + ownerValue(owner),
	}, nil
}

// Config finds the cluster and the namespace: the one that is named, else that of
// KUBECONFIG or ~/.kube/config, else the one that this process runs in.
func Config(c Cluster, getenv func(string) string) (*rest.Config, string, error) {
	quiet()
	config, namespace, err := loadConfig(c, getenv)
	if err != nil {
		return nil, "", fault.Hintf(fault.Errorf(fault.Usage, "read the cluster's configuration: %w", err), "name one with 'kubeconfig' in [session.kubernetes], or KUBECONFIG")
	}
	return config, namespace, nil
}

func loadConfig(c Cluster, getenv func(string) string) (*rest.Config, string, error) {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: clientcmd.NewDefaultClientConfigLoadingRules().Precedence}
	if list := getenv("KUBECONFIG"); list != "" {
		rules.Precedence = strings.Split(list, string(os.PathListSeparator))
	}
	if c.Kubeconfig != "" {
		rules = &clientcmd.ClientConfigLoadingRules{ExplicitPath: string(c.Kubeconfig)}
	}
	over := &clientcmd.ConfigOverrides{CurrentContext: c.Context}
	over.Context.Namespace = c.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, over)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	namespace, _, err := loader.Namespace()
	return config, namespace, err
}

// get returns a pod, or nil where there is none.
func (c *client) get(ctx context.Context, pod string) (*corev1.Pod, error) {
	p := &corev1.Pod{}
	err := c.rest.Get().Namespace(c.namespace).Resource("pods").Name(pod).Do(ctx).Into(p)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, apiError("get pod "+pod, err)
	}
	return p, nil
}

// list returns the owner's pods as they are now.
func (c *client) list(ctx context.Context) (*corev1.PodList, error) {
	l := &corev1.PodList{}
	o := metav1.ListOptions{LabelSelector: c.selector}
	err := c.rest.Get().Namespace(c.namespace).Resource("pods").VersionedParams(&o, c.params).Do(ctx).Into(l)
	return l, apiError("list pods", err)
}

// create makes a pod. One that is there already is fault.Busy.
func (c *client) create(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	made := &corev1.Pod{}
	err := c.rest.Post().Namespace(c.namespace).Resource("pods").Body(p).Do(ctx).Into(made)
	return made, apiError("create pod "+p.Name, err)
}

// remove lets a pod end within so many seconds: this one, and no other of its
// name. One that is gone is nil.
func (c *client) remove(ctx context.Context, p *corev1.Pod, seconds int64) error {
	o := &metav1.DeleteOptions{GracePeriodSeconds: &seconds, Preconditions: &metav1.Preconditions{UID: &p.UID}}
	err := c.rest.Delete().Namespace(c.namespace).Resource("pods").Name(p.Name).Body(o).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // or it is another's now
		return nil
	}
	return apiError("delete pod "+p.Name, err)
}

// annotate changes annotations of this pod, and of no other of its name; nil
// removes one. With a version it is refused as fault.Busy if the pod has changed
// since.
func (c *client) annotate(ctx context.Context, p *corev1.Pod, version string, notes map[string]*string) (*corev1.Pod, error) {
	meta := map[string]any{"annotations": notes, "uid": p.UID}
	if version != "" {
		meta["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return nil, fmt.Errorf("encode annotations: %w", err)
	}
	now := &corev1.Pod{}
	err = c.rest.Patch(types.MergePatchType).Namespace(c.namespace).Resource("pods").Name(p.Name).Body(patch).Do(ctx).Into(now)
	return now, apiError("annotate pod "+p.Name, err)
}

// events returns what the cluster noted about a pod, the oldest first.
func (c *client) events(ctx context.Context, p *corev1.Pod) ([]corev1.Event, error) {
	l := &corev1.EventList{}
	o := metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(p.UID)}
	err := c.rest.Get().Namespace(c.namespace).Resource("events").VersionedParams(&o, c.params).Do(ctx).Into(l)
	return l.Items, apiError("list events of pod "+p.Name, err)
}

// apiError says what was asked of the API server and gives the answer a kind.
func apiError(what string, err error) error {
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("cluster: %s: %w", what, err)
	case apierrors.IsNotFound(err):
		return fault.Errorf(fault.NotFound, "cluster: %s: %w", what, err)
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return fault.Errorf(fault.Busy, "cluster: %s: %w", what, err)
	case quotaExceeded(err):
		return fault.Hintf(fault.Errorf(fault.Unreachable, "cluster: %s: %s: %w", what, QuotaExceeded, err), "'kubectl describe quota' shows what is used")
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fault.Hintf(fault.Errorf(fault.Denied, "cluster: %s: %w", what, err), "deploy/base/role.yaml has the rights that den needs")
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return fault.Errorf(fault.Usage, "cluster: %s: %w", what, err)
	case errors.As(err, &status):
		return fault.Errorf(fault.Unreachable, "cluster: %s: %w", what, err)
	case errors.As(err, &network):
		return fault.Hintf(fault.Errorf(fault.Unreachable, "cluster: %s: %w", what, err), "'kubectl get pods' tries the same")
	}
	return fault.Errorf(fault.Unreachable, "cluster: %s: %w", what, err)
}

// quotaExceeded reports whether a pod was refused because the namespace has used
// up its quota.
func quotaExceeded(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// streams are those of a command in a pod; each may be nil.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exec runs a command in the client's container, to its end. It returns the exit
// code; an error means that the command could not be run, or that the stream to
// it broke.
func (c *client) exec(ctx context.Context, pod string, argv []string, s streams) (int, error) {
	o := &corev1.PodExecOptions{Container: c.container, Command: argv, Stdin: s.in != nil, Stdout: s.out != nil, Stderr: s.err != nil}
	url := c.rest.Post().Namespace(c.namespace).Resource("pods").Name(pod).SubResource("exec").VersionedParams(o, c.params).URL()
	// Newer API servers and all proxies take WebSockets; older ones only SPDY.
	ws, err := remotecommand.NewWebSocketExecutor(c.config, "GET", url.String())
	if err != nil {
		return 0, apiError("exec in pod "+pod, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, "POST", url)
	if err != nil {
		return 0, apiError("exec in pod "+pod, err)
	}
	both, err := remotecommand.NewFallbackExecutor(ws, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return 0, apiError("exec in pod "+pod, err)
	}
	err = both.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: s.in, Stdout: s.out, Stderr: s.err})
	var exit utilexec.CodeExitError
	if errors.As(err, &exit) {
		return exit.Code, nil
	}
	if ctx.Err() != nil && err != nil {
		return 0, ctx.Err()
	}
	return 0, apiError("exec in pod "+pod, err)
}
