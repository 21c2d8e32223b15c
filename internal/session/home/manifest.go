package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/statefile"
)

// manifestVersion is the version of session.json. A newer one is refused.
const manifestVersion = 1

// maxRecord bounds session.json, and the registry. A command line of the
// longest size that systems allow fits.
const maxRecord = 16 << 20

// OwnerLabel is the label of sessions that a keeper has for its agents: whose
// they are.
const OwnerLabel = "den.owner"

// Manifest is the record of a session. While the session runs only its host
// writes it; later, the process that closes it.
type Manifest struct {
	V       int       `json:"v"`
	ID      string    `json:"id"`
	Name    string    `json:"session"`
	Status  Status    `json:"status"`
	Failure string    `json:"failure,omitempty"` // why it failed
	Command []string  `json:"command"`
	Cwd     string    `json:"cwd"`
	Term    string    `json:"term"`
	Cols    int       `json:"cols"`
	Rows    int       `json:"rows"`
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`

	Labels      map[string]string `json:"labels,omitempty"`
	Prompt      string            `json:"prompt,omitempty"`
	Marks       string            `json:"marks,omitempty"` // MarksOff, or "": auto
	RecordInput string            `json:"record_input"`
	LogLimit    int64             `json:"log_limit"`

	PID     int    `json:"pid,omitempty"` // of the program
	HostPID int    `json:"host_pid,omitempty"`
	Host    string `json:"host,omitempty"` // the host's version
	// Cgroup is the directory of the cgroup that holds the session's processes.
	Cgroup string `json:"cgroup,omitempty"`
	Socket string `json:"socket,omitempty"`

	ExitCode   *int   `json:"exit_code,omitempty"`
	ExitSignal string `json:"exit_signal,omitempty"`
	// EndedBy is the signal to its host that ended the session, or
	// EndedByUpgrade.
	EndedBy string `json:"ended_by,omitempty"`
	// Final is the last seq and ScreenHash the last screen's hash, known once
	// the session is over.
	FinalSeq   uint64 `json:"final_seq,omitempty"`
	ScreenHash string `json:"screen_hash,omitempty"`
	// Noted is what the host noted of its program; nil where none did yet.
	Noted *Noted `json:"noted,omitempty"`

	raw []byte // as it was read: keys of a newer build are kept on write
}

// Dir is one session's directory.
type Dir struct {
	Path string
	ID   string
	Home Home
}

// Log returns the event log's directory.
func (d Dir) Log() string { return filepath.Join(d.Path, "log") }

// Cells returns the directory of the cells' results.
func (d Dir) Cells() string { return filepath.Join(d.Path, "cells") }

// ShellFiles returns the directory of an integrated shell's start-up files.
func (d Dir) ShellFiles() string { return filepath.Join(d.Path, "shell") }

// HasShell reports whether the session's program is an integrated shell.
func (d Dir) HasShell() bool {
	fi, err := os.Lstat(d.ShellFiles())
	return err == nil && fi.IsDir()
}

// Artifacts returns the directory of the session's artifacts.
func (d Dir) Artifacts() string { return filepath.Join(d.Path, "artifacts") }

// HostLog returns the file that takes the host's stderr.
func (d Dir) HostLog() string { return filepath.Join(d.Path, "host.log") }

func (d Dir) manifest() string { return filepath.Join(d.Path, "session.json") }
func (d Dir) lock() string     { return filepath.Join(d.Path, "lock") }

// exists reports whether there is a record, even an unreadable one: Load
// reports the error, and gc must not remove the directory as debris. A link to
// another session's directory is none.
func (d Dir) exists() bool {
	if fi, err := os.Lstat(d.Path); err == nil && !fi.IsDir() || !ident.IsID(d.ID) {
		return false
	}
	return d.hasRecord()
}

func (d Dir) hasRecord() bool {
	_, err := os.Stat(d.manifest())
	return !errors.Is(err, fs.ErrNotExist)
}

// Load reads the record as stored. The record of a session whose host died may
// still say that it is active; see Inspect.
func (d Dir) Load() (*Manifest, error) {
	raw, err := atomicfile.Read(d.manifest(), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Errorf(fault.NotFound, "no session '%s'", d.ID)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read session '%s': %w", d.ID, err)
	}
	m, err := statefile.Decode[Manifest](d.manifest(), raw, manifestVersion)
	if err != nil {
		return nil, statefile.Advise(fmt.Errorf("read session '%s': %w", d.ID, err), "its event log in %s may still be whole", d.Log())
	}
	m.raw = raw
	if m.ID != d.ID || !ident.IsID(m.ID) || ident.Check("session", m.Name) != nil {
		return nil, fault.Errorf(fault.Storage, "read session '%s': its record is about session %q (%q)", d.ID, m.Name, m.ID)
	}
	return &m, nil
}

// Save replaces the record. Only a final record is synced to disk: after a
// power loss all other sessions are lost anyway.
func (d Dir) Save(m *Manifest) error {
	write := atomicfile.ReplaceJSON
	if m.Status.Final() {
		write = atomicfile.WriteJSON
	}
	m.V = manifestVersion
	data, err := statefile.Over(m.raw, m)
	if err != nil {
		return fmt.Errorf("encode session '%s': %w", d.ID, err)
	}
	return write(d.manifest(), data)
}

// Inspect returns the record with its actual status: an active session whose
// host no longer holds the lock is lost. It writes nothing.
func (d Dir) Inspect() (*Manifest, error) {
	m, _, err := d.inspect()
	return m, err
}

// inspect is Inspect, and also reports whether the status on disk is outdated.
func (d Dir) inspect() (m *Manifest, stale bool, err error) {
	m, err = d.Load()
	if err != nil || m.Status.Final() {
		return m, false, err
	}
	held, err := filelock.Held(d.lock())
	if err != nil {
		return nil, false, fault.Errorf(fault.Storage, "inspect session '%s': %w", d.ID, err)
	}
	if held {
		return m, false, nil
	}
	// The host may have written its last record in between.
	if m, err = d.Load(); err != nil || m.Status.Final() {
		return m, false, err
	}
	if m.Status == Destroying {
		m.Status = Destroyed
	} else {
		m.Status = Lost
	}
	return m, true, nil
}

// EndedByUpgrade says that the host ended, by a signal or by itself, while its
// binary was replaced.
const EndedByUpgrade = "upgrade"

// Ending describes the status, with how the program ended.
func (m *Manifest) Ending() string {
	switch {
	case m.Status == Lost:
		return "lost: its host died unexpectedly"
	case m.Status == Failed:
		return "failed: " + m.Failure
	case m.Status == Destroyed && m.EndedBy == EndedByUpgrade:
		return "destroyed: its host ended while its binary was replaced"
	case m.Status == Destroyed && m.EndedBy != "":
		return "destroyed by a " + m.EndedBy + " to its host"
	case m.Status == Exited && m.ExitSignal != "":
		return "exited by " + m.ExitSignal
	case m.Status == Exited && m.ExitCode != nil:
		return fmt.Sprintf("exited with status %d", *m.ExitCode)
	}
	return string(m.Status)
}

// LastWrite returns when the event log last grew.
func (d Dir) LastWrite() (time.Time, error) {
	fi, err := d.newestSegment()
	if err != nil {
		return time.Time{}, err
	}
	return fi.ModTime(), nil
}

// LogEnd returns the name and the size of the event log's newest segment. One
// of them changes with every event.
func (d Dir) LogEnd() (segment string, size int64, err error) {
	fi, err := d.newestSegment()
	if err != nil {
		return "", 0, err
	}
	return fi.Name(), fi.Size(), nil
}

func (d Dir) newestSegment() (fs.FileInfo, error) {
	entries, err := os.ReadDir(d.Log()) // sorted: the newest segment is last
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fs.ErrNotExist
	}
	return entries[len(entries)-1].Info()
}

// Gone returns a channel that is closed when the session's host has exited. Its
// goroutine ends with the host or with the context.
func (d Dir) Gone(ctx context.Context) (<-chan struct{}, error) {
	host := 0
	if m, err := d.Load(); err == nil {
		host = m.HostPID
	}
	gone, err := filelock.Released(ctx, d.lock(), host)
	if err != nil {
		return nil, fmt.Errorf("watch the host: %w", err)
	}
	return gone, nil
}

// Status is where a session is in its life.
type Status string

// The statuses. They are stored in files and sent as JSON: add, never rename.
const (
	Starting   Status = "starting"
	Running    Status = "running"
	Exiting    Status = "exiting"
	Exited     Status = "exited"
	Failed     Status = "failed"
	Destroying Status = "destroying"
	Destroyed  Status = "destroyed"
	// Lost means that the host died without closing the record. How the
	// program ended is unknown.
	Lost Status = "lost"
)

// next lists the valid transitions. A status without an entry is final, except
// that any final session can become destroyed.
func next() map[Status][]Status {
	return map[Status][]Status{
		Starting:   {Running, Failed, Lost},
		Running:    {Exiting, Exited, Destroying, Failed, Lost},
		Exiting:    {Exited, Destroying, Failed, Lost},
		Destroying: {Destroyed, Lost},
		Exited:     {Destroyed},
		Failed:     {Destroyed},
		Lost:       {Destroyed},
	}
}

// Advance returns the new status, or an error that names both.
func (s Status) Advance(to Status) (Status, error) {
	if slices.Contains(next()[s], to) {
		return to, nil
	}
	return s, fmt.Errorf("session status %s to %s: not allowed", s, to)
}

// Active reports whether the host may still be running.
func (s Status) Active() bool {
	return s == Starting || s == Running || s == Exiting || s == Destroying
}

// Commandable reports whether the session accepts input.
func (s Status) Commandable() bool { return s == Running }

// Final reports whether the session is over: gc may collect it, and its
// screen is read by replay.
func (s Status) Final() bool { return !s.Active() }
