package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/render/film"
	"den/internal/screen/render/redact"
	"den/internal/session/home"
	"den/internal/session/script"
	"den/internal/session/steps"

	"github.com/spf13/cobra"
)

type testOptions struct {
	parallel, repeat int
	timeout          duration
	update, styles   bool
	junit, out       string
	vars             []string
}

func (a *app) testCmd() *cobra.Command {
	o := testOptions{timeout: duration(steps.DefaultTimeout)}
	cmd := &cobra.Command{
		Use:   "test FILE... [-- CMD...]",
		Short: "Play scripts that test programs on terminals",
		Long: `Play scripts, each in a session of its own that is gone afterwards. 'den export --format
test' writes one from a recording. A script says what is started, then one step after the
other: those of 'den batch', screens that are expected, and how the program ends. Steps wait
for what they need; nothing sleeps. With CMD that is started instead of the scripts' command.

A script fails at its first step that fails. Then both screens are shown beside each other,
and the session's recording is kept in DIR, as NAME.cast. If a picture differs,
NAME.expected.png, NAME.actual.png and NAME.diff.png are kept there, too.

--update writes what comes into the files, as the new expectation, and pictures beside them.
${NAME} in a step is a variable that the script declares ("vars"): its value is given by
--var, or by a variable of the environment.

Exit codes: 0 all passed; 1 a script failed; 2 one is not understood, or a variable has no
value: nothing was played; 3 no such file, or no such picture; 9 a script of a newer version.`,
		Example: "  den export work --format test -o work.steps && den test work.steps\n  den test tests/*.steps --parallel 4 --junit results.xml\n  den test login.steps --var SECRET_1=@password -- ./app --debug",
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n == 0 || n < 0 && len(args) == 0 {
				return fault.Hintf(fault.Errorf(fault.Usage, "test needs scripts"), "'den export SESSION --format test -o FILE' writes one")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			files, command := args, []string(nil)
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				files, command = args[:n], args[n:]
			}
			return a.runTest(cmd.Context(), files, command, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.parallel, "parallel", 0, "play `N` at the same time (default: as many as there are processors)")
	f.IntVar(&o.repeat, "repeat", 1, "play each script `N` times")
	f.Var(&o.timeout, "timeout", "how long a step waits that does not say")
	f.BoolVar(&o.update, "update", false, "write what comes into the scripts, and their pictures")
	f.BoolVar(&o.styles, "styles", false, "with --update: expect how screens look, too, not only their text")
	f.StringVar(&o.junit, "junit", "", "write JUnit XML to `FILE`")
	f.StringVarP(&o.out, "output", "o", "den-test", "the `DIR` for recordings and pictures of failures")
	f.StringArrayVar(&o.vars, "var", nil, "the value of a variable: `NAME=@FILE` or NAME=TEXT (repeatable)")
	return cmd
}

// testFile is a script that is played.
type testFile struct {
	path   string
	raw    []byte
	script *script.Script
}

// testPlay is what became of one play, as --json shows it.
type testPlay struct {
	File       string          `json:"file"`
	Play       int             `json:"play,omitempty"` // from 1, if there are several
	Status     string          `json:"status"`         // passed, failed, updated or not-run
	DurationMS int64           `json:"duration_ms"`
	Step       *int            `json:"step,omitempty"` // from 0
	Line       int             `json:"line,omitempty"`
	Error      *fault.Object   `json:"error,omitempty"`
	Diff       []steps.DiffRow `json:"diff,omitempty"`
	Recording  string          `json:"recording,omitempty"`
	Pictures   *testPictures   `json:"pictures,omitempty"`

	failure *script.Failure
}

// testPictures are how much the picture of a screen differs, and the files that
// show it.
type testPictures struct {
	*script.Pictures
	*steps.PictureDiff
}

func (p *testPlay) name() string {
	if p.Play == 0 {
		return p.File
	}
	return p.File + "#" + strconv.Itoa(p.Play)
}

// tester plays files.
type tester struct {
	*app
	testOptions
	player script.Player
	hide   *redact.Redactor // of recordings and pictures

	mu    sync.Mutex // guards the fields below, and what is printed
	taken map[string]bool
}

func (a *app) runTest(ctx context.Context, paths, command []string, o testOptions) error {
	if o.parallel == 0 {
		o.parallel = runtime.NumCPU()
	}
	switch {
	case o.parallel < 1 || o.repeat < 1:
		return fault.Errorf(fault.Usage, "--parallel and --repeat are at least 1")
	case o.update && o.repeat > 1:
		return fault.Errorf(fault.Usage, "--update writes what one play shows: leave --repeat out")
	case o.styles && !o.update:
		return fault.Errorf(fault.Usage, "--styles is for --update: scripts that expect styles have them compared anyway")
	}
	t := &tester{app: a, testOptions: o, taken: map[string]bool{}}
	files, err := t.readScripts(paths)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "den-test-")
	if err != nil {
		return fmt.Errorf("make a Home for the sessions of tests: %w", err)
	}
	defer os.RemoveAll(dir) // Best effort: a temporary directory.
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the directory of the programs: %w", err)
	}
	t.player = script.Player{
		Root: home.Home{Path: dir, Explicit: true}, Options: a.options(), Environ: a.environ, Dir: here, Command: command,
		Timeout: time.Duration(o.timeout), Update: o.update, Styles: o.styles, Hide: t.hide,
	}
	plays := t.playAll(ctx, files)
	return t.report(ctx, plays)
}

// readScripts reads all files before any is played.
func (t *tester) readScripts(paths []string) ([]testFile, error) {
	given, err := readVars(t.vars)
	if err != nil {
		return nil, err
	}
	var files []testFile
	var secrets []string
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fault.Errorf(fault.NotFound, "read script: %w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		s, err := script.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		err = s.Expand(func(name string) (string, bool) {
			value, ok := given[name]
			if !ok {
				value = t.getenv(name)
				ok = value != ""
			}
			if ok && value != "" {
				secrets = append(secrets, regexp.QuoteMeta(value))
			}
			return value, ok
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := t.readPictures(s, filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, testFile{path, raw, s})
	}
	t.hide, err = redact.New(secrets, true)
	return files, err
}

// readPictures finds out whether all pictures are there, unless they are to be
// written.
func (t *tester) readPictures(s *script.Script, dir string) error {
	if t.update {
		return nil
	}
	for i := range s.Steps {
		if want := s.Steps[i].Screen; want != nil && want.Picture != "" {
			if _, err := steps.ReadPicture(want.PicturePath(dir)); err != nil {
				return fmt.Errorf("line %d: %w", s.Steps[i].Line, err)
			}
		}
	}
	return nil
}

// readVars reads NAME=@FILE and NAME=TEXT.
func readVars(words []string) (map[string]string, error) {
	vars, err := parsePairs("--var", words)
	if err != nil {
		return nil, err
	}
	for name, value := range vars {
		file, ok := strings.CutPrefix(value, "@")
		switch {
		case !ok:
		case strings.HasPrefix(file, "@"): // @@ is a literal @
			vars[name] = file
		default:
			raw, err := os.ReadFile(file)
			if err != nil {
				return nil, fault.Errorf(fault.Usage, "--var %s: %w", name, err)
			}
			vars[name] = strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
		}
	}
	return vars, nil
}

// playAll plays all files, several at once.
func (t *tester) playAll(ctx context.Context, files []testFile) []testPlay {
	plays := make([]testPlay, len(files)*t.repeat)
	next := make(chan int) // unbuffered: who plays takes the next one
	var players sync.WaitGroup
	for range min(t.parallel, len(plays)) {
		players.Go(func() {
			for i := range next {
				t.playOne(ctx, files[i%len(files)], &plays[i])
				if !t.json {
					t.print(&plays[i])
				}
			}
		})
	}
	for i := range plays {
		plays[i] = testPlay{File: files[i%len(files)].path, Status: "not-run"}
		if t.repeat > 1 {
			plays[i].Play = i/len(files) + 1
		}
	}
	for i := range plays {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	players.Wait()
	return plays
}

func (t *tester) playOne(ctx context.Context, file testFile, p *testPlay) {
	begun := time.Now()
	o, err := t.player.Play(ctx, file.script, filepath.Dir(file.path), func(log *eventlog.Log) error {
		path, err := t.keepRecording(ctx, p, log)
		p.Recording = path
		return err
	})
	p.DurationMS = time.Since(begun).Milliseconds()
	if ctx.Err() != nil {
		return
	}
	p.Status = "passed"
	if o.Failure == nil && err == nil && len(o.Changed)+len(o.Pictures) > 0 {
		p.Status = "updated"
		err = rewrite(file, o)
	}
	switch {
	case o.Failure != nil:
		p.failure = o.Failure
	case err != nil:
		p.failure = &script.Failure{Step: -1, Err: err}
	default:
		return
	}
	p.Status = "failed"
	object := fault.ObjectOf(p.failure)
	p.Error, p.Line, p.Diff = &object, p.failure.Line, p.failure.Diff
	if p.failure.Step >= 0 {
		p.Step = &p.failure.Step
	}
	if d := p.failure.Picture; d != nil {
		files, kerr := t.keepPictures(p, d)
		p.Pictures = &testPictures{files, d}
		err = errors.Join(err, kerr)
	}
	if err != nil && o.Failure != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		fmt.Fprintf(t.stderr, "den: %s: %v\n", p.name(), err)
	}
}

// rewrite writes what came as the new expectation, the pictures first: a script
// must not name one that is not there.
func rewrite(file testFile, o script.Outcome) error {
	for _, path := range slices.Sorted(maps.Keys(o.Pictures)) {
		if err := atomicfile.Write(path, o.Pictures[path]); err != nil {
			return fmt.Errorf("write picture: %w", err)
		}
	}
	if len(o.Changed) == 0 {
		return nil
	}
	return atomicfile.Write(file.path, script.Rewrite(file.raw, file.script, o.Changed))
}

// keepPictures puts the pictures of a failure where people find them, beside its
// recording.
func (t *tester) keepPictures(p *testPlay, d *steps.PictureDiff) (*script.Pictures, error) {
	path := p.Recording
	if path == "" {
		path = t.freeName(p.base())
	}
	base := strings.TrimSuffix(path, ".cast")
	files := &script.Pictures{Expected: base + ".expected.png", Actual: base + ".actual.png", Diff: base + ".diff.png"}
	if err := os.MkdirAll(t.out, 0o755); err != nil {
		return files, fmt.Errorf("keep the pictures of a failure: %w", err)
	}
	for _, f := range []struct {
		path string
		data []byte
	}{{files.Expected, d.Want}, {files.Actual, d.Got}, {files.Diff, d.Diff}} {
		if err := os.WriteFile(f.path, f.data, 0o600); err != nil {
			return files, fmt.Errorf("keep the pictures of a failure: %w", err)
		}
	}
	return files, nil
}

// base names what is kept of the play.
func (p *testPlay) base() string {
	base := strings.TrimSuffix(filepath.Base(p.File), filepath.Ext(p.File))
	if p.Play > 0 {
		base += "-" + strconv.Itoa(p.Play)
	}
	return base
}

// keepRecording puts the recording of a failure where people find it. Values of
// variables are hidden in it.
func (t *tester) keepRecording(ctx context.Context, p *testPlay, log *eventlog.Log) (path string, err error) {
	if err := os.MkdirAll(t.out, 0o755); err != nil {
		return "", fmt.Errorf("keep the recording of a failure: %w", err)
	}
	f, err := os.OpenFile(t.freeName(p.base()), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("keep the recording of a failure: %w", err)
	}
	_, err = film.Write(ctx, f, log, film.Options{Format: film.Cast, Title: filepath.Base(p.File), Redact: t.hide})
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("keep the recording of a failure: %w", err)
	}
	return f.Name(), nil
}

// freeName is a file that no other failure of this run has.
func (t *tester) freeName(base string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	path := filepath.Join(t.out, base+".cast")
	for n := 2; t.taken[path]; n++ {
		path = filepath.Join(t.out, fmt.Sprintf("%s.%d.cast", base, n))
	}
	t.taken[path] = true
	return path
}

// print shows one play to people.
func (t *tester) print(p *testPlay) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.failure == nil {
		fmt.Fprintf(t.text, "%s\t%s\t%d ms\n", p.Status, p.name(), p.DurationMS)
		return
	}
	where := p.name()
	if p.Line > 0 {
		where += ": line " + strconv.Itoa(p.Line)
	}
	fmt.Fprintf(t.text, "failed\t%s\t%d ms\n  %v\n", where, p.DurationMS, p.failure)
	if hint := fault.HintOf(p.failure); hint != "" {
		fmt.Fprintf(t.text, "  hint: %s\n", hint)
	}
	if len(p.Diff) > 0 {
		fmt.Fprint(t.text, script.SideBySide(p.Diff))
	}
	if p.Recording != "" {
		fmt.Fprintf(t.text, "  recording: %s\n", p.Recording)
	}
	if p.Pictures != nil {
		for line := range strings.Lines(p.Pictures.Pictures.String()) {
			fmt.Fprint(t.text, "  "+line)
		}
	}
}

// report ends with what became of all.
func (t *tester) report(ctx context.Context, plays []testPlay) error {
	counts := map[string]int{}
	var reports []script.Report
	for i := range plays {
		p := &plays[i]
		counts[p.Status]++
		if p.Status != "not-run" {
			r := script.Report{Name: p.name(), Duration: time.Duration(p.DurationMS) * time.Millisecond, Failure: p.failure, Recording: p.Recording}
			if p.Pictures != nil {
				r.Pictures = p.Pictures.Pictures
			}
			reports = append(reports, r)
		}
	}
	if t.junit != "" {
		var b strings.Builder
		if err := script.WriteJUnit(&b, reports); err != nil {
			return err
		}
		if err := atomicfile.Write(t.junit, []byte(b.String())); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	var err error
	if t.json {
		err = t.printJSON(map[string]any{"scripts": plays, "passed": counts["passed"], "failed": counts["failed"], "updated": counts["updated"]})
	} else {
		fmt.Fprintf(t.text, "%d passed, %d failed", counts["passed"], counts["failed"])
		if t.update {
			fmt.Fprintf(t.text, ", %d updated", counts["updated"])
		}
		fmt.Fprintln(t.text)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case counts["failed"] > 0:
		return reported{fault.Errorf(fault.Internal, "%d scripts failed", counts["failed"])}
	}
	return nil
}
