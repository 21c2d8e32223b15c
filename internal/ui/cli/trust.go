package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/decisive"
	"den/internal/place/workspace"

	"golang.org/x/term"
)

// checkTrust asks before a workspace that came from elsewhere runs for the
// first time. One that this user wrote here, or that was up before, passes.
func (a *app) checkTrust(ctx context.Context, p keeper.StateDir, ws *workspace.Workspace, trusted bool) error {
	root, err := a.home()
	if err != nil {
		return err
	}
	why, err := p.Foreign(keeper.Caller{Home: root, Getenv: a.getenv})
	if err != nil || why == "" || trusted {
		return err
	}
	fmt.Fprintf(a.stderr, "%s. ", oneLine(why, 300))
	showWorkspace(a.stderr, ws)
	if yes, err := a.confirm(ctx, "Run it? [y/N] "); yes || err != nil {
		return err
	}
	return fault.Hintf(fault.Errorf(fault.Denied, "workspace %s was not made here, and is not trusted", p.Config),
		"read it, then 'den up --trust'")
}

// confirm asks a person at a terminal. Without a terminal the answer is no.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	if terminalOf(a.stderr) == nil || !term.IsTerminal(int(a.stdin.Fd())) {
		return false, nil
	}
	fmt.Fprint(a.stderr, question)
	var line string
	err := a.whileReading(ctx, func(stdin io.Reader) (err error) {
		line, err = bufio.NewReader(stdin).ReadString('\n')
		return err
	})
	if errors.Is(err, io.EOF) {
		return false, nil // Ctrl-D is no yes
	}
	if err != nil {
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// Bounds of what is shown of a workspace. What is left out is said.
const (
	maxShownFile  = 4 << 10 // of a file's text
	maxShownText  = 64 << 10
	maxShownFiles = 100 // of a directory
)

// showWorkspace tells whoever decides whether to trust a workspace what it would
// run, what it would allow, and which files decide that.
func showWorkspace(w io.Writer, ws *workspace.Workspace) {
	fmt.Fprintln(w, "'den up' would run, and let agents do without asking:")
	for _, grant := range ws.Grants() {
		fmt.Fprintf(w, "  %s\n", oneLine(grant.String(), 300))
	}
	fmt.Fprintln(w, "It is made of these files:")
	row := func(f decisive.File) { fmt.Fprintf(w, "  %s: %s\n", oneLine(f.Path, 300), oneLine(f.Role, 100)) }
	left := maxShownText
	for _, f := range ws.Decisive(nil) {
		row(f)
		if f.Shown {
			left -= showFiles(w, f.Path, left)
		}
	}
	dirs := []string{ws.Dir}
	for i := range ws.Agents {
		dirs = append(dirs, ws.Agents[i].Dir)
	}
	slices.Sort(dirs)
	var found []decisive.File
	for _, dir := range slices.Compact(dirs) {
		found = append(found, decisive.In(dir)...)
	}
	if len(found) > 0 {
		fmt.Fprintln(w, "Programs take these by themselves when they work there:")
	}
	for _, f := range found {
		row(f)
	}
}

// showFiles prints the text of a file, or of those in a directory, and returns
// how much of the limit it took.
func showFiles(w io.Writer, top string, limit int) int {
	used, seen := 0, 0
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if seen++; seen > maxShownFiles {
			fmt.Fprintf(w, "    there are more files: read them\n")
			return fs.SkipAll
		}
		if path != top {
			fmt.Fprintf(w, "    %s\n", oneLine(path, 300))
		}
		n, err := showText(w, path, min(maxShownFile, limit-used))
		used += n
		return err
	})
	if err != nil {
		fmt.Fprintf(w, "    it cannot be read: %s\n", oneLine(err.Error(), 300))
	}
	return used
}

func showText(w io.Writer, path string, limit int) (int, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() // Best effort: it was only read.
	data, err := io.ReadAll(io.LimitReader(f, int64(max(limit, 0))+1))
	if err != nil {
		return 0, err
	}
	cut := len(data) > limit
	if cut {
		data = data[:max(limit, 0)]
	}
	if !utf8.Valid(data[:max(0, len(data)-utf8.UTFMax)]) {
		fmt.Fprintf(w, "    | it is no text\n")
		return 0, nil
	}
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, maxShownFile+1)
	for lines.Scan() {
		fmt.Fprintf(w, "    | %s\n", oneLine(lines.Text(), 300))
	}
	if cut {
		fmt.Fprintf(w, "    | … there is more: read it\n")
	}
	return len(data), lines.Err()
}
