package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"den/internal/base/fault"
	"den/internal/base/statefile"
	"den/internal/place/provider"
)

// fingerprintVersion changes when the same configuration hashes differently.
const fingerprintVersion = 1

// A Fingerprint stands for what an agent does: its command, prompt,
// environment and extras, each with a hash of its own so that two can tell
// what differs. Hints, the beacon and the work directory are not in it.
type Fingerprint struct {
	Version int               `json:"v"`
	Hash    string            `json:"hash"`
	Fields  map[string]string `json:"fields"`
}

// FingerprintOf is a function of the configuration alone.
func FingerprintOf(c SessionConfig) Fingerprint {
	f := Fingerprint{Version: fingerprintVersion, Fields: map[string]string{
		"command": hashWords(c.Command...),
		"prompt":  hashWords(c.Prompt),
	}}
	for key, value := range c.Env.Values {
		f.Fields["env."+key] = hashWords(value)
	}
	// Where a secret comes from, not what it is: a fingerprint is kept and
	// shown, and a hash of a short secret tells it.
	for key, s := range c.Env.Secrets {
		f.Fields["env."+key] = hashWords(append([]string{"secret", s.File}, s.Command...)...)
	}
	for key, value := range c.FingerprintExtra {
		f.Fields["extra."+key] = hashWords(value)
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(f.Fields)) {
		all = append(all, key, f.Fields[key])
	}
	f.Hash = hashWords(all...)
	return f
}

// Identity hashes all of the agent's configuration, hints too: it tells
// whether anything was changed, where a Fingerprint tells whether the agent
// would be another one.
func (m *Managed) Identity() string {
	data, err := json.Marshal(m.config)
	if err != nil {
		panic(err) // plain values: cannot be
	}
	return hashWords(m.session, string(data))
}

// hashWords keeps words apart by their lengths: no text can look like two.
func hashWords(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintf(h, "%d:%s", len(w), w)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// String is the form that is kept beside a session.
func (f Fingerprint) String() string {
	data, err := json.Marshal(f)
	if err != nil {
		panic(err) // strings and a number: cannot be
	}
	return string(data)
}

// ParseFingerprint reads what String wrote.
func ParseFingerprint(s string) (Fingerprint, error) {
	f, err := statefile.Decode[Fingerprint]("the fingerprint", []byte(s), fingerprintVersion)
	if err != nil {
		return f, fault.Errorf(fault.Protocol, "read the agent's fingerprint: %w", err)
	}
	return f, nil
}

// Diff names what changed from f to next, sorted: "command", "env.PATH
// added". Equal fingerprints give nil.
func (f Fingerprint) Diff(next Fingerprint) []string {
	if f.Hash == next.Hash {
		return nil
	}
	var changed []string
	for key, old := range f.Fields {
		switch now, ok := next.Fields[key]; {
		case !ok:
			changed = append(changed, key+" removed")
		case now != old:
			changed = append(changed, key+" changed")
		}
	}
	for key := range next.Fields {
		if _, ok := f.Fields[key]; !ok {
			changed = append(changed, key+" added")
		}
	}
	slices.Sort(changed)
	return changed
}

// Drift returns what makes the running agent another than it should be, nil
// for nothing. A session without a fingerprint is not den's doing, or its start
// was cut off: it drifts.
func (m *Managed) Drift(ctx context.Context) ([]string, error) {
	kept, err := m.provider.GetMeta(ctx, m.session, MetaFingerprint)
	if err != nil {
		return nil, err
	}
	if kept == "" {
		return []string{"no fingerprint: its start was cut off"}, nil
	}
	was, err := ParseFingerprint(kept)
	if err != nil {
		return nil, fmt.Errorf("agent '%s': %w", m.name, err)
	}
	return was.Diff(m.Fingerprint()), nil
}

// Glance tells what an observation of its session says of the agent: whether it
// runs, and whether it takes a closer look to know that it is as it should be.
func (m *Managed) Glance(o provider.Observation) (running, closer bool) {
	was, err := ParseFingerprint(o.Meta[MetaFingerprint])
	closer = err != nil || len(was.Diff(m.Fingerprint())) > 0 || len(m.config.Hints.ProcessNames) > 0
	return o.Running, closer
}
