package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"
)

// What a cell asks is seen and answered on the dashboard, on a small terminal,
// too.
func TestDashboardAnswersACell(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 8}} {
		w := newWorld(t)
		w.do("new", "idle", "--cols", "60", "--rows", "6", "cat")
		w.do("new", "work", "--cols", "60", "--rows", "6", "bash", "--norc")
		w.do("fire", "work", `read -p "go on? " a; echo "got $a"`)
		p := w.sit(size[0], size[1], w.den, "dashboard")
		p.seesText("! work")
		p.seesText("1 needs you")
		p.types("n")
		p.types("y")
		p.seesText("work waits for ")
		p.seesText("go on?")
		p.types("sure\r")
		p.seesText("answered")
		p.seesText("Esc: back") // all of it is drawn
		p.types("\x1b")
		p.sees("no panel", func(text string) bool { return !strings.Contains(text, "answered") })
		if size[0] < 64 {
			p.types("\r") // the screen instead of the list
		}
		p.seesText("got sure")
		if out := w.do("poll", "work"); !strings.Contains(out, "got sure") {
			t.Errorf("%s", out)
		}
	}
}

// What an agent asks on its screen is answered on the dashboard, and the list says
// what sessions did last.
func TestDashboardAnswersAnAgent(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		need.Missing(t, "python3 is not installed: %v", err)
	}
	program, err := filepath.Abs("../internal/ui/dashboard/web/testdata/tui.py")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "den.toml")
	config := fmt.Sprintf("[workspace]\nname = \"crew\"\n\n[[agents]]\nname = \"tui\"\nprovider = \"claude\"\nstart_command = [%q, %q]\nprompt_mode = \"none\"\nstate_source = \"screen\"\nprocess_names = [\"python3\"]\nready_delay_ms = 0\nemits_permission_warning = false\n", python, program)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "DEN_WORKSPACE="+file)
	w.do("up", "--wait")
	t.Cleanup(func() { w.do("down") })
	p := w.sit(160, 50, w.den, "dashboard")
	p.seesText("? for shortcuts") // its screen, and its last line in the list
	w.do("agent", "nudge", "--no-wait", "tui", "work")
	p.seesText("1 needs you")
	p.types("n")
	p.seesText("y answer")
	p.types("y")
	p.seesText("3 No")
	p.types("3")
	p.seesText("Enter: No")
	p.types("\r")
	p.seesText("chose No")
	if out := w.do("agent", "logs", "tui"); !strings.Contains(out, "agent.answered tui: No, by dashboard of ") {
		t.Errorf("%s", out)
	}
}
