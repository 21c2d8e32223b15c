package session_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"den/internal/session"
	"den/internal/session/cell"
)

// The file of a cell's output has every line, also those before a question, and
// goes on behind the answer.
func TestOutputFileHasEveryLine(t *testing.T) {
	t.Parallel()
	for _, lines := range []int{200, 60_000} { // in memory, and in a file
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, session.Options{}, "bash", "--norc")
			run := session.Run{Code: fmt.Sprintf("seq %d; read -p 'go on? ' x; seq %d; echo the end", lines, lines), Timeout: patience, MaxLines: 8}
			asked, err := s.Run(t.Context(), run)
			if err != nil || !asked.Asks() || !asked.Truncated {
				t.Fatalf("%+v %v", asked, err)
			}
			if got, want := readFile(t, asked.OutputFile), numbers(lines)+"go on? \n"; got != want {
				t.Errorf("at the question the file has %d bytes, want %d", len(got), len(want))
			}
			if want := fmt.Sprintf("\n%d\ngo on? ", lines); !strings.HasSuffix(asked.Output, want) {
				t.Errorf("the end of the output is %q", asked.Output)
			}
			r, err := s.Answer(t.Context(), line("yes"), session.Run{Timeout: patience, MaxLines: 8})
			if err != nil || r.Status != cell.Done || !r.Truncated || r.OutputLacks != "" {
				t.Fatalf("%+v %v", r, err)
			}
			if r.OutputFile != asked.OutputFile {
				t.Errorf("the file is %q, and was %q", r.OutputFile, asked.OutputFile)
			}
			if got, want := readFile(t, r.OutputFile), numbers(lines)+"go on? yes\n"+numbers(lines)+"the end\n"; got != want {
				t.Errorf("at the end the file has %d bytes, want %d", len(got), len(want))
			}
			if want := fmt.Sprintf("\n%d\n%d\nthe end", lines-1, lines); !strings.HasSuffix(r.Output, want) {
				t.Errorf("the end of the output is %q", r.Output)
			}
		})
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(raw)
}
