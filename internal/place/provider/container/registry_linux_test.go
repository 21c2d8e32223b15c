package container_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/place/provider/container"
	"den/internal/testkit/podmantest"
)

// registry serves one image, as little as an engine needs to pull it.
type registry struct {
	blobs    map[string][]byte // by digest
	manifest string            // its digest
	pulls    atomic.Int64
}

func (r *registry) add(blob []byte) string {
	sum := sha256.Sum256(blob)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.blobs[digest] = blob
	return digest
}

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

func newRegistry(t *testing.T, layer []byte) *registry {
	t.Helper()
	r := &registry{blobs: map[string][]byte{}}
	part := func(kind string, blob []byte) map[string]any {
		return map[string]any{"mediaType": kind, "digest": r.add(blob), "size": len(blob)}
	}
	encode := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	tar := part("application/vnd.docker.image.rootfs.diff.tar", layer)
	config := encode(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{"Env": []string{"PATH=/bin", "FLAVOUR=pulled"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{tar["digest"]}},
	})
	r.manifest = r.add(encode(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "layers": []any{tar},
		"config": part("application/vnd.docker.container.image.v1+json", config),
	}))
	return r
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	digest, kind := path.Base(req.URL.Path), "application/octet-stream"
	switch {
	case req.URL.Path == "/v2/":
		w.WriteHeader(http.StatusOK)
		return
	case strings.Contains(req.URL.Path, "/manifests/"):
		digest, kind = r.manifest, manifestType
		r.pulls.Add(1)
	}
	blob, ok := r.blobs[digest]
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Docker-Content-Digest", digest)
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(blob))
}

func TestImageIsPulledWhenItIsMissing(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	rootfs, err := podmantest.BusyboxRoot()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(rootfs)
	if err != nil {
		t.Fatal(err)
	}
	r := newRegistry(t, layer)
	server := httptest.NewServer(r)
	defer server.Close()
	p := opened(t, e, "city")
	c := shell(t, `echo "$FLAVOUR."; sleep 1000`)
	c.Options = container.Spec{Image: strings.TrimPrefix(server.URL, "http://") + "/den/pulled:1", Network: "none"}
	if err := p.Start(t.Context(), "a", c); err != nil {
		t.Fatal(err)
	}
	sees(t, p, "a", "pulled.")
	once := r.pulls.Load()
	if err := p.Start(t.Context(), "b", c); err != nil {
		t.Fatal(err)
	}
	sees(t, p, "b", "pulled.")
	if again := r.pulls.Load(); once == 0 || again != once {
		t.Errorf("asked for the manifest %d times, then %d", once, again)
	}
}
