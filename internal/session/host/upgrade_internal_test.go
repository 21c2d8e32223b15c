package host

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/process/pty"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"

	"golang.org/x/sys/unix"
)

// fill gives every field below v a value that is not zero, each another one
// where the type allows it.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
			return
		}
		if v.Type() == reflect.TypeFor[regexp.Regexp]() { // encoded as its text
			v.Set(reflect.ValueOf(regexp.MustCompile(strconv.Itoa(*n))).Elem())
			return
		}
		for i := range v.NumField() {
			if field := v.Type().Field(i); !field.IsExported() && !field.Anonymous {
				t.Fatalf("%s.%s is not exported: it would not be encoded", v.Type(), field.Name)
			}
			fill(t, v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(*n))
	case reflect.Uint64, reflect.Uint32, reflect.Uint8:
		v.SetUint(uint64(*n % 200))
	default:
		t.Fatalf("a %s crosses an upgrade: say here how to fill it", v.Type())
	}
}

func filled[T any](t *testing.T) (v T) {
	t.Helper()
	n := 0
	fill(t, reflect.ValueOf(&v).Elem(), &n)
	return v
}

// Whatever field a part of the state gets, it is encoded: one that has no name
// of its own among those it is embedded with would be lost.
func TestHandoverIsEncodedWhole(t *testing.T) {
	want := filled[handover](t)
	want.V = handoverVersion
	got, err := readState(stateFile(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// stateFile returns the descriptor of a file with the state, which its reader
// closes.
func stateFile(t *testing.T, s handover) int {
	t.Helper()
	f, err := newStateFile()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := json.NewEncoder(f).Encode(s); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// A running cell that the next binary takes over is the same cell.
func TestRestoredCellsHandOverTheSame(t *testing.T) {
	dir := t.TempDir()
	want := filled[cellsState](t)
	id := ident.New(time.Now())
	want.Active.Record.CellID = id
	cs := &cells{h: &Host{core: &core{}}, store: cell.Store{Dir: dir}}
	journal, err := cs.store.Begin(want.Active.Record)
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cs.store.OutputPath(id), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cs.restore(want); err != nil {
		t.Fatal(err)
	}
	got, err := cs.handover()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got.Active, want.Active)
	}
}

// A host that took over hands over what it got.
func TestResumedHostHandsOverTheSame(t *testing.T) {
	want := filled[handover](t)
	want.V, want.Program, want.Cols, want.Rows = handoverVersion, os.Getpid(), 80, 24
	want.Home, want.ID = home.Home{Path: t.TempDir()}, ident.New(time.Now())
	want.Position = eventlog.Position{Seq: 41, Elapsed: time.Hour}
	want.Own = wire.Resize{Cols: 100, Rows: 30}
	want.Cells.Active = nil // see the test above: here it would be driven
	term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: Scrollback})
	term.Write([]byte("a screen"))
	want.Screen = term.Dump()

	d := want.Home.Dir(want.ID)
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	m := &home.Manifest{ID: want.ID, Name: "x", Status: home.Running, Command: []string{"cat"}, Cols: 80, Rows: 24, LogLimit: 1 << 20}
	if err := d.Save(m); err != nil {
		t.Fatal(err)
	}
	want.TTY, want.Socket, want.Lock = inheritedFiles(t)
	want.Guard = 0
	h, err := resume("test", stateFile(t, want))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.tty.Close()             // Best effort: the test is over.
		h.server.listener.Close() // Best effort: as above.
		h.lock.Close()            // Best effort: as above.
		h.core.log.Close()        // Best effort: as above.
	})
	got, err := h.handover()
	if err != nil {
		t.Fatal(err)
	}
	if got.Upgrades != want.Upgrades+1 {
		t.Errorf("upgrade %d follows %d", got.Upgrades, want.Upgrades)
	}
	if got.Position.Seq != want.Position.Seq+1 || got.Position.Elapsed < want.Position.Elapsed { // its note
		t.Errorf("the log goes on at %+v behind %+v", got.Position, want.Position)
	}
	got.Upgrades, got.Position = want.Upgrades, want.Position
	got.TTY, got.Socket, got.Lock = want.TTY, want.Socket, want.Lock
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// inheritedFiles returns descriptors that belong to nobody here, as exec leaves
// them.
func inheritedFiles(t *testing.T) (tty, socket, lock int) {
	t.Helper()
	terminal, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var fds []int
	for _, f := range []syscall.Conn{terminal, listener, file} {
		fd, err := descriptor(f)
		if err != nil {
			t.Fatal(err)
		}
		if fd, err = unix.Dup(fd); err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	return fds[0], fds[1], fds[2]
}

// A host may be upgraded from a den that knew less.
func TestFirstStateIsRead(t *testing.T) {
	const first = `{"v":1,"home":{"Path":"/h"},"id":"i","program":7,"output_seq":5,"last_output":6,"last_input":7,"held":"4w==","screen":"",
		"cells":{"learned":{"text":"$ ","col":2},"shell":{"token":"t","last":66,"ends":3,"exit":1,"began":false,"prompt":9},
		"active":{"record":{"v":1,"cell_id":"c","status":"running","output":"","duration_ms":0,"code":"a\nb"},"begun":8,"lines":["b"],"typed":"a","sent":true,
		"by_shell":true,"sent_seq":4,"prompt":{"text":"$ ","col":2},"late":true,"pressed":true,"ends":2,"over":true,"sink":{"size":1,"mem":"eA=="},"take":{"next":11,"col":2,"echo":"a"}}}}`
	var s handover
	if err := json.Unmarshal([]byte(first), &s); err != nil {
		t.Fatal(err)
	}
	dollar, echo := cell.Prompt{Text: "$ ", Col: 2}, "a"
	record := cell.Record{V: 1, Result: cell.Result{CellID: "c", Status: cell.Running}, Code: "a\nb"}
	want := handover{
		V: 1, Home: s.Home, ID: "i", Program: 7, Screen: []byte{},
		coreState: coreState{OutputSeq: 5, LastOutput: 6, LastInput: 7, Held: []byte{0xe3}},
		Cells: cellsState{
			Learned: dollar, Shell: cell.ShellMarks{Token: "t", Last: 'B', Ends: 3, Exit: 1, Prompt: 9},
			Active: &activeState{
				cellLife:  cellLife{Record: record, Begun: 8, Sent: true, Late: true, Pressed: true},
				State:     cell.State{Lines: []string{"b"}, Typed: "a", ByShell: true, Prompt: dollar},
				passState: passState{SentSeq: 4, Ends: 2, Over: true},
				Sink:      cell.SinkState{Mem: []byte("x"), Size: 1},
				Take:      &cell.CollectorState{Next: 11, Col: 2, Echo: &echo},
			},
		},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}
