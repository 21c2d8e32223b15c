package kubernetes

import (
	"context"
	"os"

	"den/internal/base/fault"

	corev1 "k8s.io/api/core/v1"
)

// copyDen takes den's binary from its input, unless it is there.
const copyDen = `set -e
d=` + denDir + `/bin
if [ -x $d/den ]; then exit 0; fi
mkdir -p $d
cat > $d/.den.$$
chmod 755 $d/.den.$$
mv $d/.den.$$ $d/den`

// install copies den into a pod whose image does not have it.
func (p *Provider) install(ctx context.Context, pod *corev1.Pod) error {
	binary, err := os.Open(p.Binary)
	if err != nil {
		return fault.Errorf(fault.Storage, "copy den into pod %s: %w", pod.Name, err)
	}
	defer binary.Close() // Best effort: it was only read.
	var said lastWords
	code, err := p.client.exec(ctx, pod.Name, []string{"/bin/sh", "-c", copyDen}, streams{in: binary, out: &said, err: &said})
	if err == nil && code != 0 {
		err = fault.Hintf(fault.Errorf(fault.Internal, "the shell ended with status %d: %s", code, said.String()), "an image without a shell needs den's own image: set 'den_image'")
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "copy den into pod %s: %w", pod.Name, err)
	}
	return nil
}
