package environment_test

import (
	"testing"

	"den/internal/base/environment"
)

func TestGet(t *testing.T) {
	get := environment.Getter([]string{"A=1", "AB=2", "EMPTY=", "A=3=4", "B=5", "B"})
	for key, want := range map[string]string{"A": "3=4", "AB": "2", "EMPTY": "", "B": "", "C": ""} {
		if got := get(key); got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
}
