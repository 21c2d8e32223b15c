package container

import (
	"math"
	"net"
	"path/filepath"
	"testing"

	"den/internal/base/fault"
)

func TestMemory(t *testing.T) {
	for s, want := range map[string]int64{"": 0, "1": 1, "1b": 1, "4k": 4 << 10, "512m": 512 << 20, "512M": 512 << 20, "2g": 2 << 30, "2GiB": 2 << 30, "3kb": 3 << 10} {
		if got, err := parseMemory(s); err != nil || got != want {
			t.Errorf("%q = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"0", "-1m", "m", "b", "1x", "1.5g", "1 m", "9999999999g", "i", "  "} {
		if got, err := parseMemory(s); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q = %d, %v, want usage", s, got, err)
		}
	}
}

func FuzzMemory(f *testing.F) {
	for _, s := range []string{"", "512m", "b", "9g", "-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseMemory(s); err == nil && n < 0 || n == 0 && err == nil && s != "" {
			t.Errorf("%q = %d", s, n)
		}
	})
}

func TestLimitsThatAreNone(t *testing.T) {
	for _, c := range []Spec{{Memory: "much"}, {PIDs: -1}, {CPUs: -1}, {CPUs: math.NaN()}, {CPUs: math.Inf(1)}} {
		if _, err := resources(c); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v, want usage", c, err)
		}
	}
	if r, err := resources(Spec{}); err != nil || r.Memory != 0 || *r.PidsLimit != -1 || r.NanoCPUs != 0 {
		t.Errorf("no limits: %+v, %v", r, err)
	}
	for _, network := range []string{"bridge", "container:x", "NONE"} {
		if _, err := networkMode(network); fault.KindOf(err) != fault.Usage {
			t.Errorf("network %q: %v, want usage", network, err)
		}
	}
}

func TestFindSocket(t *testing.T) {
	run := t.TempDir()
	getenv := func(env map[string]string) func(string) string { return func(k string) string { return env[k] } }
	for _, c := range []struct {
		configured string
		env        map[string]string
		want       string
	}{
		{"/a/sock", map[string]string{"DOCKER_HOST": "unix:///b"}, "/a/sock"},
		{"unix:///a/sock", nil, "/a/sock"},
		{"", map[string]string{"DOCKER_HOST": "unix:///b", "CONTAINER_HOST": "unix:///c"}, "/b"},
		{"", map[string]string{"CONTAINER_HOST": "unix:///c"}, "/c"},
	} {
		if got, err := findSocket(t.Context(), c.configured, "", getenv(c.env)); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	for _, address := range []string{"tcp://127.0.0.1:2375", "ssh://me@there", "sock"} {
		if _, err := findSocket(t.Context(), "", "", getenv(map[string]string{"DOCKER_HOST": address})); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want usage", address, err)
		}
	}
	if err := answers(t.Context(), filepath.Join(run, "nobody")); err == nil {
		t.Error("nobody answers, and there is no error")
	}
	l, err := net.Listen("unix", filepath.Join(run, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := answers(t.Context(), filepath.Join(run, "sock")); err != nil {
		t.Error(err)
	}
}
