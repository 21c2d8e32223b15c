package dashboard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"den/internal/session/home"
	"den/internal/testkit/dashboardtest"
	"den/internal/ui/dashboard"
)

// patience is how long a test waits for what must come; only a hang reaches it.
const patience = 2 * time.Minute

func TestMain(m *testing.M) { dashboardtest.Main(m) }

// world is a Home with real sessions, and a model that looks at it.
type world struct {
	*dashboardtest.World
	model *dashboard.Model
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: dashboardtest.New(t)}
	w.model = dashboard.New(dashboard.Options{
		Home:     w.Home,
		Registry: home.NewRegistry(func(k string) string { return map[string]string{"XDG_STATE_HOME": w.State}[k] }),
	})
	t.Cleanup(w.model.Close)
	return w
}

// within ends with the test's patience.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until reads frames until one is as wanted.
func until(t *testing.T, v *dashboard.View, what string, ok func(*dashboard.Frame) bool) *dashboard.Frame {
	t.Helper()
	ctx := within(t)
	var last *dashboard.Frame
	for {
		f, err := v.Next(ctx)
		if err != nil {
			t.Fatalf("no frame shows %s: %v; the last: %+v", what, err, last)
		}
		if last = f; ok(f) {
			return f
		}
	}
}

func shows(text string) func(*dashboard.Frame) bool {
	return func(f *dashboard.Frame) bool { return strings.Contains(f.Screen.Text, text) }
}
