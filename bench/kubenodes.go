package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// simulated is the label and the taint of nodes that are none.
const simulated = "den-simulated"

// kubeNodes are nodes of a real API server without containers: a pod on one of
// them is den's first process on this machine, as it would be in the pod, and
// exec runs beside it. So everything but kubelets and container runtimes is real,
// and hundreds of agents fit on one machine.
type kubeNodes struct {
	api *rest.RESTClient
	den string
	dir string

	cancel  context.CancelFunc
	running sync.WaitGroup
	server  *http.Server

	mu   sync.Mutex // guards pods
	pods map[types.UID]*simulatedPod
}

// podsOfNode is how many pods a simulated node takes.
const podsOfNode = 50

// startNodes adds n nodes to a cluster.
func (b *bench) startNodes(kubeconfig string, n int) (*kubeNodes, error) {
	api, err := kubeClient(kubeconfig)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "denn") // short: sockets are below it
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(b.ctx)
	k := &kubeNodes{api: api, den: b.den, dir: dir, cancel: cancel, pods: map[types.UID]*simulatedPod{}}
	port, err := k.listen()
	if err == nil {
		for i := range n {
			err = errors.Join(err, k.addNode(ctx, fmt.Sprintf("sim-%d", i), port))
		}
	}
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	k.running.Go(func() { k.beat(ctx, n) })
	k.running.Go(func() { k.watch(ctx) })
	return k, nil
}

func kubeClient(kubeconfig string) (*rest.RESTClient, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.QPS = -1 // nobody asks how these nodes spare the API server
	return rest.RESTClientFor(config)
}

// listen serves what API servers ask of kubelets. All nodes have one address.
func (k *kubeNodes) listen() (port int, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return 0, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return 0, err
	}
	l, err := net.Listen("tcp", nodeAddress+":0")
	if err != nil {
		return 0, err
	}
	k.server = &http.Server{
		Handler:   http.HandlerFunc(k.serveExec),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}},
	}
	k.running.Go(func() { _ = k.server.ServeTLS(l, "", "") }) // it ends with close
	return l.Addr().(*net.TCPAddr).Port, nil
}

// nodeAddress is that of the cluster's real node: API servers connect to no
// loopback address.
const nodeAddress = "10.88.0.1"

func (k *kubeNodes) addNode(ctx context.Context, name string, port int) error {
	node := map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "labels": map[string]string{simulated: "true", "kubernetes.io/hostname": name}},
		"spec":     map[string]any{"taints": []any{map[string]string{"key": simulated, "value": "true", "effect": "NoSchedule"}}},
	}
	room := map[string]string{"cpu": "64", "memory": "256Gi", "pods": fmt.Sprint(podsOfNode)}
	now := time.Now().UTC().Format(time.RFC3339)
	status := map[string]any{"status": map[string]any{
		"capacity": room, "allocatable": room,
		"addresses":       []any{map[string]string{"type": "InternalIP", "address": nodeAddress}},
		"daemonEndpoints": map[string]any{"kubeletEndpoint": map[string]int{"Port": port}},
		"conditions":      []any{map[string]string{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated", "lastHeartbeatTime": now, "lastTransitionTime": now}},
	}}
	lease := map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": microTime()},
	}
	return errors.Join(
		k.post(ctx, "/api/v1/nodes", node),
		k.patch(ctx, "/api/v1/nodes/"+name+"/status", status),
		k.post(ctx, leases, lease),
	)
}

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

func microTime() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }

// beat renews the nodes' leases, as kubelets do.
func (k *kubeNodes) beat(ctx context.Context, n int) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		for i := range n {
			// Best effort: the next one comes before the node is given up.
			_ = k.patch(ctx, fmt.Sprintf("%s/sim-%d", leases, i), map[string]any{"spec": map[string]string{"renewTime": microTime()}})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (k *kubeNodes) post(ctx context.Context, path string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return k.api.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(raw).Do(ctx).Error()
}

func (k *kubeNodes) patch(ctx context.Context, path string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return k.api.Patch(types.MergePatchType).AbsPath(path).Body(raw).Do(ctx).Error()
}

// watch runs the pods of the nodes until the context ends.
func (k *kubeNodes) watch(ctx context.Context) {
	lw := cache.NewFilteredListWatchFromClient(k.api, "pods", metav1.NamespaceAll, func(o *metav1.ListOptions) {
		o.LabelSelector = "app.kubernetes.io/managed-by=den"
	})
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lw, ObjectType: &corev1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.told(ctx, o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { k.told(ctx, o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if pod, ok := o.(*corev1.Pod); ok {
				k.gone(pod.UID)
			}
		},
	}})
	informer.RunWithContext(ctx)
}

// told begins a pod, or ends it.
func (k *kubeNodes) told(ctx context.Context, pod *corev1.Pod) {
	if pod.Spec.NodeSelector[simulated] == "" || pod.Spec.NodeName == "" {
		return
	}
	k.mu.Lock()
	p := k.pods[pod.UID]
	begin := p == nil && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending
	if begin {
		p = &simulatedPod{nodes: k, name: pod.Name, namespace: pod.Namespace, uid: pod.UID, dir: filepath.Join(k.dir, fmt.Sprint(len(k.pods))), ended: make(chan struct{})}
		k.pods[pod.UID] = p
	}
	k.mu.Unlock()
	switch {
	case begin:
		k.running.Go(func() { p.run(ctx) })
	case p != nil && pod.DeletionTimestamp != nil:
		p.terminate.Do(func() { k.running.Go(func() { p.remove(ctx) }) })
	}
}

// gone ends the processes of a pod that was deleted by force.
func (k *kubeNodes) gone(uid types.UID) {
	k.mu.Lock()
	p := k.pods[uid]
	k.mu.Unlock()
	if p != nil {
		p.kill()
	}
}

func (k *kubeNodes) find(namespace, name string) *simulatedPod {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		if p.namespace == namespace && p.name == name && !p.isOver() {
			return p
		}
	}
	return nil
}

// close ends all pods and forgets the nodes; the cluster goes anyway.
func (k *kubeNodes) close() error {
	k.cancel()
	k.mu.Lock()
	for _, p := range k.pods {
		p.kill()
	}
	k.mu.Unlock()
	var err error
	if k.server != nil {
		err = k.server.Close()
	}
	k.running.Wait()
	return errors.Join(err, os.RemoveAll(k.dir))
}
