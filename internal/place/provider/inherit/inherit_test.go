package inherit_test

import (
	"maps"
	"slices"
	"testing"

	"den/internal/place/provider/inherit"
)

func TestEnviron(t *testing.T) {
	outer := []string{"PATH=/bin", "ANTHROPIC_API_KEY=secret", "LC_ALL=C", "HOME=/h", "LCX=1", "EDITOR=vi", "broken", "https_proxy=http://p"}
	want := []string{"PATH=/bin", "LC_ALL=C", "HOME=/h", "https_proxy=http://p"}
	if got := inherit.Environ(outer); !slices.Equal(got, want) {
		t.Errorf("Environ = %q, want %q", got, want)
	}
	vars := map[string]string{"PATH": "/bin", "LC_ALL": "C", "HOME": "/h", "https_proxy": "http://p"}
	if got := inherit.Vars(outer); !maps.Equal(got, vars) {
		t.Errorf("Vars = %q, want %q", got, vars)
	}
}

func TestValid(t *testing.T) {
	for _, kv := range [][2]string{{"", "x"}, {"A=B", "x"}, {"A\x00", "x"}, {"A", "x\x00"}} {
		if inherit.Valid(kv[0], kv[1]) {
			t.Errorf("%q is valid", kv)
		}
	}
	if !inherit.Valid("A-b.c", "x=y\n") {
		t.Error("an odd name is not valid")
	}
}
