// Package spawntest is the test suite of spawners: what holds for a process on
// this machine holds for one in a container.
package spawntest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/testkit/need"
)

// Place is where processes are spawned. It has a POSIX shell at sh, and setsid.
type Place struct {
	// Spawner makes one for a test.
	Spawner func(t *testing.T) runner.Spawner
	// Dir is a directory that is there, under this path.
	Dir string
	// CommandLines returns those of all processes that anybody can see: in the
	// place, and on the machine that has it.
	CommandLines func(t *testing.T) string
}

// Run checks a place.
func Run(t *testing.T, p Place) {
	for name, law := range map[string]func(*world){
		"streams":            streams,
		"half-lines":         halfLines,
		"every-byte":         everyByte,
		"large":              large,
		"both-outputs":       bothOutputs,
		"output-is-kept":     outputIsKept,
		"end-of-input":       endOfInput,
		"terminated":         terminated,
		"obeys-while-deaf":   obeysWhileDeaf,
		"killed-with-others": killedWithOthers,
		"nothing-is-left":    nothingIsLeft,
		"others-stay":        othersStay,
		"environment":        environment,
		"secrets":            secrets,
		"directory":          directory,
		"cannot-start":       cannotStart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law(&world{T: t, place: p, spawner: p.Spawner(t)})
		})
	}
}

// world is one law's.
type world struct {
	*testing.T
	place   Place
	spawner runner.Spawner
}

// spawn starts a line of shell. It is ended with the test.
func (w *world) spawn(script string) runner.Process {
	w.Helper()
	return w.command(runner.Command{Argv: []string{"sh", "-c", script}, Dir: w.place.Dir})
}

func (w *world) command(c runner.Command) runner.Process {
	w.Helper()
	p, err := w.spawner.Spawn(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		p.Signal(syscall.SIGKILL) // Best effort: most have ended.
		io.Copy(io.Discard, p.Stdout())
		p.Wait()
	})
	return p
}

func (w *world) write(p runner.Process, text string) {
	w.Helper()
	if _, err := io.WriteString(p.Stdin(), text); err != nil {
		w.Fatal(err)
	}
}

// exits reads the rest of both outputs and checks the exit code.
func (w *world) exits(p runner.Process, code int) (out, told string) {
	w.Helper()
	errs := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(p.Stderr())
		errs <- string(all)
	}()
	all, err := io.ReadAll(p.Stdout())
	told = <-errs
	if exit := p.Wait(); exit.Code != code || err != nil {
		w.Errorf("exit %+v, want %d; output %.200q, errors %.200q, %v", exit, code, all, told, err)
	}
	return string(all), told
}

// ends waits for the end and checks the exit code.
func (w *world) ends(p runner.Process, code int) {
	w.Helper()
	if exit := p.Wait(); exit.Code != code {
		w.Errorf("exit %+v, want %d", exit, code)
	}
}

// signal sends a signal, which must reach the process.
func (w *world) signal(p runner.Process, s syscall.Signal) {
	w.Helper()
	if err := p.Signal(s); err != nil {
		w.Error(err)
	}
}

// says checks what a process prints until its end, which is a good one.
func (w *world) says(p runner.Process, want string) {
	w.Helper()
	if out, _ := w.exits(p, 0); out != want {
		w.Errorf("output %q, want %q", out, want)
	}
}

// line reads one line.
func (w *world) line(r *bufio.Reader) string {
	w.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		w.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// lives reports whether the place has a process of that number. A dead one that
// nobody has collected does not live.
func (w *world) lives(pid string) bool {
	w.Helper()
	out, _ := w.exits(w.spawn(`if read -r stat 2>/dev/null </proc/`+pid+`/stat; then echo "${stat##*) }"; fi`), 0)
	return out != "" && !strings.HasPrefix(out, "Z") && !strings.HasPrefix(out, "X")
}

func streams(w *world) {
	p := w.spawn(`read line; echo "got $line"; echo told >&2; exit 7`)
	w.write(p, "hello\n")
	out, told := w.exits(p, 7)
	if out != "got hello\n" || told != "told\n" {
		w.Errorf("output %q, errors %q", out, told)
	}
	w.ends(p, 7) // waited for again
	if err := p.Signal(syscall.SIGTERM); err == nil {
		w.Error("a process that has ended took a signal")
	}
}

// What was written comes at once, whether or not its line has ended.
func halfLines(w *world) {
	p := w.spawn(`printf ab; read x; printf "c$x"; read y; printf "$y\nend"`)
	expect := func(want string) {
		w.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(p.Stdout(), got); err != nil || string(got) != want {
			w.Fatalf("%q, want %q, %v", got, want, err)
		}
	}
	expect("ab")
	w.write(p, "1")
	w.write(p, "2\n")
	expect("c12")
	w.write(p, "3\n")
	expect("3\nend")
	w.exits(p, 0)
}

func everyByte(w *world) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	p := w.spawn(`cat`)
	w.write(p, string(all))
	if err := p.Stdin().Close(); err != nil {
		w.Error(err)
	}
	w.says(p, string(all))
}

// A line that is longer than every buffer on its way arrives whole.
func large(w *world) {
	text := strings.Repeat("0123456789abcde\t", 3<<20/16) + "\n"
	p := w.spawn(`cat`)
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p.Stdin(), text)
		if err == nil {
			err = p.Stdin().Close()
		}
		sent <- err
	}()
	out, _ := w.exits(p, 0)
	if err := <-sent; err != nil {
		w.Error(err)
	}
	if out != text {
		w.Errorf("%d of %d bytes came back, or others", len(out), len(text))
	}
}

func bothOutputs(w *world) {
	p := w.spawn(`i=0; while [ $i -lt 2000 ]; do printf '%01000d\n' 1; printf '%01000d\n' 2 >&2; i=$((i+1)); done`)
	out, told := w.exits(p, 0)
	if len(out) != 2000*1001 || len(told) != 2000*1001 || strings.Contains(out, "2") || strings.Contains(told, "1") {
		w.Errorf("%d bytes of output, %d of errors", len(out), len(told))
	}
}

func outputIsKept(w *world) {
	p := w.spawn(`echo last words`)
	p.Wait()
	if out, err := io.ReadAll(p.Stdout()); string(out) != "last words\n" || err != nil {
		w.Errorf("%q, %v", out, err)
	}
}

func endOfInput(w *world) {
	p := w.spawn(`cat; echo over`)
	w.write(p, "first\n")
	if err := p.Stdin().Close(); err != nil {
		w.Error(err)
	}
	w.says(p, "first\nover\n")
	if _, err := p.Stdin().Write([]byte("x")); err == nil {
		w.Error("input that had ended was written")
	}
}

func terminated(w *world) {
	p := w.spawn(`trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done`)
	out := bufio.NewReader(p.Stdout())
	w.line(out)
	w.signal(p, syscall.SIGTERM)
	if got := w.line(out); got != "bye" {
		w.Errorf("%q", got)
	}
	w.ends(p, 3)
	p = w.spawn(`echo up; exec sleep 1000`)
	w.line(bufio.NewReader(p.Stdout()))
	w.signal(p, syscall.SIGTERM)
	w.ends(p, 128+int(syscall.SIGTERM))
}

// A command that does not read its input, of which much waits, is signalled.
func obeysWhileDeaf(w *world) {
	p := w.spawn(`echo up; exec sleep 1000`)
	w.line(bufio.NewReader(p.Stdout()))
	sent := make(chan error, 1)
	go func() {
		_, err := p.Stdin().Write(bytes.Repeat([]byte("x"), 1<<20))
		sent <- err
	}()
	w.signal(p, syscall.SIGTERM)
	w.ends(p, 128+int(syscall.SIGTERM))
	p.Stdin().Close() // Best effort: it may be closed.
	<-sent            // with or without an error, the writer is free
}

func killedWithOthers(w *world) {
	p := w.spawn(`sleep 1000 & echo $!; setsid sleep 1000 & echo $!; (trap '' TERM HUP; sleep 1000) & echo $!; wait`)
	out := bufio.NewReader(p.Stdout())
	pids := []string{w.line(out), w.line(out), w.line(out)}
	w.signal(p, syscall.SIGKILL)
	w.ends(p, 128+int(syscall.SIGKILL))
	for _, pid := range pids {
		if w.lives(pid) {
			w.Errorf("process %s outlives the one that started it", pid)
		}
	}
}

// A daemon in a session of its own ends with the process that started it.
func nothingIsLeft(w *world) {
	p := w.spawn(`setsid sh -c 'echo $$; exec sleep 1000' </dev/null 2>/dev/null & read x; exit 5`)
	out := bufio.NewReader(p.Stdout())
	pid := w.line(out)
	w.write(p, "\n")
	w.ends(p, 5)
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		w.Errorf("its output did not end: %q, %v", rest, err)
	}
	if w.lives(pid) {
		w.Errorf("process %s runs on", pid)
	}
}

// Two processes of one agent do not end each other.
func othersStay(w *world) {
	stays := w.spawn(`echo up; cat`)
	w.line(bufio.NewReader(stays.Stdout()))
	w.exits(w.spawn(`true`), 0)
	killed := w.spawn(`sleep 1000`)
	w.signal(killed, syscall.SIGKILL)
	killed.Wait()
	stays.Stdin().Close() // Best effort: exits tells.
	w.exits(stays, 0)
}

func environment(w *world) {
	odd := "a=b 'q' \"$HOME\"\n\tä"
	p := w.command(runner.Command{Argv: []string{"sh", "-c", `printf %s "$ODD"; test -n "$PATH"`}, Dir: w.place.Dir, Env: map[string]string{"ODD": odd}})
	w.says(p, odd)
}

// A variable's value is on no command line: not on that of the process, nor of
// those that start it.
func secrets(w *world) {
	const secret = "hush-4f1c9e"
	p := w.command(runner.Command{Argv: []string{"sh", "-c", `echo ${#KEY}; read x`}, Dir: w.place.Dir, Env: map[string]string{"KEY": secret}})
	if got := w.line(bufio.NewReader(p.Stdout())); got != "11" {
		w.Errorf("the process has %s characters of it", got)
	}
	if lines := w.place.CommandLines(w.T); strings.Contains(lines, secret) || !strings.Contains(lines, "${#KEY}") {
		w.Errorf("the secret is on a command line, or the process on none:\n%.2000s", lines)
	}
}

func directory(w *world) {
	w.says(w.spawn(`pwd; echo "$PWD"`), w.place.Dir+"\n"+w.place.Dir+"\n")
}

func cannotStart(w *world) {
	for _, program := range []string{"/nonexistent/agent", "no-such-program-anywhere"} {
		_, err := w.spawner.Spawn(w.Context(), runner.Command{Argv: []string{program}, Dir: w.place.Dir})
		if fault.KindOf(err) != fault.NotFound || fault.HintOf(err) == "" || !strings.Contains(err.Error(), program) {
			w.Errorf("%v: kind %s, hint %q", err, fault.KindOf(err), fault.HintOf(err))
		}
	}
	if _, err := w.spawner.Spawn(w.Context(), runner.Command{Dir: w.place.Dir}); fault.KindOf(err) != fault.Usage {
		w.Errorf("%v", err)
	}
	if _, err := w.spawner.Spawn(w.Context(), runner.Command{Argv: []string{"true"}, Dir: w.place.Dir + "/nowhere"}); err == nil {
		w.Error("started in a directory that is not there")
	}
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	if _, err := w.spawner.Spawn(ctx, runner.Command{Argv: []string{"true"}, Dir: w.place.Dir}); err == nil {
		w.Error("started although cancelled")
	}
}

// OfThisMachine returns the command lines of all processes of this machine,
// those in containers too.
func OfThisMachine(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		need.Feature(t, "this system has no /proc: the command lines of others cannot be read")
	}
	var all strings.Builder
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		all.Write(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		all.WriteByte('\n')
	}
	return all.String()
}
