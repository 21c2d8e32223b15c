package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"den/internal/place/provider"

	corev1 "k8s.io/api/core/v1"
)

// A session's metadata are annotations of its pod, one a key: two who set
// different keys do not meet. A key may be longer than an annotation's, so that
// has a digest, and JSON text cannot hold every byte.
type metaNote struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
}

func metaKey(key string) string { return metaNotePrefix + digest(key, 32) }

func metaValue(key, value string) string {
	n := metaNote{Key: key, Value: value}
	if !utf8.ValidString(value) {
		n.Value, n.Bytes = "", []byte(value)
	}
	raw, err := json.Marshal(n)
	if err != nil {
		panic(err) // strings and bytes can always be encoded
	}
	return string(raw)
}

// metaNotes are the annotations of a session's first metadata.
func metaNotes(values map[string]string) map[string]string {
	notes := map[string]string{}
	for key, value := range values {
		notes[metaKey(key)] = metaValue(key, value)
	}
	return notes
}

// metaOf reads the metadata from a pod's annotations.
func metaOf(pod *corev1.Pod) map[string]string {
	values := map[string]string{}
	for note, raw := range pod.Annotations {
		var n metaNote
		if !strings.HasPrefix(note, metaNotePrefix) || json.Unmarshal([]byte(raw), &n) != nil {
			continue
		}
		values[n.Key] = n.Value
		if n.Bytes != nil {
			values[n.Key] = string(n.Bytes)
		}
	}
	return values
}

// SetMeta writes it down in the cluster before it returns.
func (p *Provider) SetMeta(ctx context.Context, name, key, value string) error {
	note := metaValue(key, value)
	return p.setNote(ctx, name, key, &note)
}

// RemoveMeta removes the annotation.
func (p *Provider) RemoveMeta(ctx context.Context, name, key string) error {
	return p.setNote(ctx, name, key, nil)
}

func (p *Provider) setNote(ctx context.Context, name, key string, note *string) error {
	if err := provider.CheckKey(key); err != nil {
		return err
	}
	pod, _, err := p.found(ctx, name)
	if err != nil {
		return err
	}
	_, err = p.client.annotate(ctx, pod, "", map[string]*string{metaKey(key): note})
	return err
}

// GetMeta asks the cluster.
func (p *Provider) GetMeta(ctx context.Context, name, key string) (string, error) {
	if err := provider.CheckKey(key); err != nil {
		return "", err
	}
	pod, _, err := p.found(ctx, name)
	if err != nil {
		return "", err
	}
	return metaOf(pod)[key], nil
}

func pointers(notes map[string]string) map[string]*string {
	all := map[string]*string{}
	for key, value := range notes {
		all[key] = &value
	}
	return all
}

// The labels and annotations by which our pods are known. Nothing without the
// first two is ever listed, stopped or removed.
const (
	managedLabel   = "app.kubernetes.io/managed-by"
	managedValue   = "den"
	ownerLabel     = "den/owner"
	ownerNote      = "den/owner"   // the raw owner
	nameNote       = "den/session" // the raw name
	specNote       = "den/spec"    // a digest of what the pod was made from
	claimNote      = "den/claim"   // who starts a session in it, and since when
	startedNote    = "den/started" // a started value, as JSON
	endedNote      = "den/ended"   // a podhost.End, as JSON
	metaNotePrefix = "meta.den/"   // one annotation a key
)

// A pod's name has a part that people can read and a digest of the owner and
// the session's name, because many owners share a namespace and a pod's name
// holds less than a session's.
const (
	maxReadable = 40
	nameDigest  = 10
	maxLabel    = 63
)

var (
	unreadable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
	labelValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`) })
)

// podName is the name of a session's pod.
func podName(owner, name string) string {
	shown := unreadable().ReplaceAllString(strings.ToLower(name), "-")
	shown = strings.Trim(shown[:min(len(shown), maxReadable)], "-")
	return strings.Trim("den-"+shown, "-") + "-" + digest(owner+"\x00"+name, nameDigest)
}

// ownerValue is the owner as a label's value. One that does not fit is replaced
// by a digest, and one that looks like a digest too.
func ownerValue(owner string) string {
	if len(owner) <= maxLabel && labelValue().MatchString(owner) && !strings.HasPrefix(owner, "x-") {
		return owner
	}
	return "x-" + digest(owner, 32)
}

func digest(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:n]
}
