package kubernetes

import (
	"context"
	"encoding/json"
	"strings"
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
