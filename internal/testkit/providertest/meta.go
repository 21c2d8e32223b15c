package providertest

import (
	"strconv"
	"strings"
	"sync"

	"den/internal/base/fault"
)

var metaCases = []testCase{
	{"Metadata", metadata},
	{"MetadataOddValues", metadataOddValues},
	{"MetadataKeys", metadataKeys},
	{"MetadataIsolated", metadataIsolated},
	{"MetadataGoneAfterRestart", metadataGone},
	{"MetadataTogether", metadataTogether},
	{"MetadataFromTheStart", metadataFromTheStart},
}

func (w *world) setMeta(name, key, value string) {
	w.Helper()
	w.ok("SetMeta", w.p.SetMeta(w.Context(), name, key, value))
}

func (w *world) hasMeta(name, key, want string) {
	w.Helper()
	got, err := w.p.GetMeta(w.Context(), name, key)
	w.ok("GetMeta", err)
	if got != want {
		w.Errorf("%s of %s = %.60q (%d bytes), want %.60q (%d bytes)", key, name, got, len(got), want, len(want))
	}
}

func metadata(w *world) {
	w.start("w", "idle")
	w.hasMeta("w", "k", "")
	w.setMeta("w", "k", "one")
	w.setMeta("w", "other", "2")
	w.hasMeta("w", "k", "one")
	w.setMeta("w", "k", "two")
	w.hasMeta("w", "k", "two")
	w.ok("RemoveMeta", w.p.RemoveMeta(w.Context(), "w", "k"))
	w.ok("RemoveMeta", w.p.RemoveMeta(w.Context(), "w", "k"))
	w.hasMeta("w", "k", "")
	w.hasMeta("w", "other", "2")
}

// metadataFromTheStart is there when Start returns, of this start alone.
func metadataFromTheStart(w *world) {
	c, ready := w.config("idle")
	c.Meta = map[string]string{"first": "value with spaces\n", "second": "größe"}
	w.startConfig(w.p, "w", c)
	w.appears(ready)
	w.hasMeta("w", "first", c.Meta["first"])
	w.setMeta("w", "first", "other")
	w.hasMeta("w", "first", "other")
	w.hasMeta("w", "second", c.Meta["second"])
	w.ok("Stop", w.p.Stop(w.Context(), "w"))
	c.Meta = map[string]string{"not a key\n": ""}
	w.is("Start with a key that is none", w.p.Start(w.Context(), "w", c), fault.Usage)
	w.start("w", "idle")
	w.hasMeta("w", "second", "")
}

func metadataOddValues(w *world) {
	w.start("w", "idle")
	for i, value := range []string{
		"", " ", "  both sides  ", "trailing \n", "\nnewlines\n\n", "a=b=c", "=", "-", "-x", ";", "#{pane_id}", "$HOME", `"'\`, "%s",
		"\t", "größe 名前 🎉", "<&>\u2028", strings.Repeat("0123456789", 1024), `{"json":[1]}`,
	} {
		key := "k" + strconv.Itoa(i)
		w.setMeta("w", key, value)
		w.hasMeta("w", key, value)
	}
}

func metadataKeys(w *world) {
	w.start("w", "idle")
	keys := []string{"a", "A", "a.b", "a-b", "a_b", ".", "..", "-", "PATH", "0", strings.Repeat("k", 128)}
	for _, key := range keys {
		w.setMeta("w", key, "value of "+key)
	}
	for _, key := range keys {
		w.hasMeta("w", key, "value of "+key)
	}
	for _, key := range []string{"", "a b", "a=b", "a/b", "ü", strings.Repeat("k", 129)} {
		w.is("SetMeta", w.p.SetMeta(w.Context(), "w", key, "v"), fault.Usage)
	}
}

func metadataIsolated(w *world) {
	for _, name := range []string{"w-1", "w-10"} {
		w.start(name, "idle")
		w.setMeta(name, "k", "of "+name)
	}
	w.hasMeta("w-1", "k", "of w-1")
	w.hasMeta("w-10", "k", "of w-10")
	w.ok("RemoveMeta", w.p.RemoveMeta(w.Context(), "w-1", "k"))
	w.hasMeta("w-10", "k", "of w-10")
	w.stop("w-1")
	w.hasMeta("w-10", "k", "of w-10")
}

// metadataGone: it is a session's, not a name's.
func metadataGone(w *world) {
	w.start("w", "exit", "0")
	w.setMeta("w", "k", "first")
	w.ends("w")
	w.hasMeta("w", "k", "first") // it stands for as long as the session does
	w.start("w", "idle")
	w.hasMeta("w", "k", "")
	w.setMeta("w", "k", "second")
	w.stop("w")
	w.start("w", "idle")
	w.hasMeta("w", "k", "")
}

func metadataTogether(w *world) {
	w.start("w", "idle")
	again := w.opened(w.h.Reopen(w.T, w.p))
	var sets sync.WaitGroup
	for i := range 10 {
		p := w.p
		if i%2 == 1 {
			p = again
		}
		sets.Go(func() {
			if err := p.SetMeta(w.Context(), "w", "k"+strconv.Itoa(i), strconv.Itoa(i)); err != nil {
				w.Errorf("SetMeta: %v", err)
			}
		})
	}
	sets.Wait()
	for i := range 10 {
		w.hasMeta("w", "k"+strconv.Itoa(i), strconv.Itoa(i))
	}
}
