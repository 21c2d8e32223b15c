package kubernetes

import (
	"context"
	"net"

	"den/internal/place/podhost"
)

// KeeperContainer is the container of a keeper's pod in which den and dend are.
const KeeperContainer = "keeper"

// KeeperPod is a pod in which a keeper runs.
type KeeperPod struct{ link *link }

// OpenKeeperPod returns the pod of a name. It is not reached yet.
func OpenKeeperPod(c Cluster, pod string, getenv func(string) string) (*KeeperPod, error) {
	client, err := connect(c, "", getenv)
	if err != nil {
		return nil, err
	}
	client.container = KeeperContainer
	return &KeeperPod{&link{client: client, pod: pod, command: []string{imageDen, podhost.Verb, podhost.ModeVerbs}}}, nil
}

// Dial opens a connection for one verb; see podhost.RunVerb.
func (k *KeeperPod) Dial(ctx context.Context) (net.Conn, error) {
	return k.link.open(ctx, podhost.Header{To: podhost.ToVerb})
}

// Close ends the stream into the pod.
func (k *KeeperPod) Close() { k.link.close() }
