// Package browser drives a headless Chromium over its DevTools, for tests and
// measurements of pages.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"den/internal/base/fault"
)

// Path finds Chromium: fault.NotFound, with how to get it, where there is none.
func Path() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fault.Hintf(fault.Errorf(fault.NotFound, "no Chromium is installed"), "apt-get install chromium")
}

// maxHeard bounds what is kept of a tab's complaints: the first ones say most.
const maxHeard = 200

// Browser is a running Chromium. It is safe for concurrent use.
type Browser struct {
	cmd  *exec.Cmd
	dir  string // its profile
	conn *websocket.Conn
	read chan struct{} // closed when nothing is read any more

	mu      sync.Mutex // guards the fields below
	last    int
	waiting map[int]chan answer // of calls without an answer yet
	heard   map[string][]string // by tab: what it wrote to its console, and broke
	err     error               // why nothing is read any more
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

var flags = []string{
	"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0",
	"--remote-allow-origins=*", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
}

var listening = regexp.MustCompile(`DevTools listening on (ws://\S+)`)

// Start runs a Chromium with a profile of its own. The caller closes it.
func Start(ctx context.Context) (*Browser, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "den-chromium-")
	if err != nil {
		return nil, err
	}
	b := &Browser{dir: dir, waiting: map[int]chan answer{}, heard: map[string][]string{}, read: make(chan struct{})}
	b.cmd = exec.Command(path, append(flags, "--user-data-dir="+dir, "about:blank")...)
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has many children
	words, err := b.cmd.StderrPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := b.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start chromium: %w", err), os.RemoveAll(dir))
	}
	if err := b.connect(ctx, words); err != nil {
		close(b.read)
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Browser) connect(ctx context.Context, words io.Reader) error {
	stop := context.AfterFunc(ctx, func() {
		b.kill()
	})
	defer stop()
	lines := bufio.NewScanner(words)
	var said string
	for lines.Scan() {
		said += lines.Text() + "\n"
		m := listening.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		go io.Copy(io.Discard, words) // it ends with the process, which Close awaits
		conn, _, err := websocket.Dial(ctx, m[1], nil)
		if err != nil {
			return fmt.Errorf("reach chromium: %w", err)
		}
		conn.SetReadLimit(256 << 20) // screenshots
		b.conn = conn
		go b.listen()
		return nil
	}
	return fmt.Errorf("chromium did not start: %s", said)
}

// listen hands answers to those who asked.
func (b *Browser) listen() {
	defer close(b.read)
	for {
		_, raw, err := b.conn.Read(context.Background())
		b.mu.Lock()
		if err != nil {
			b.err = err
			b.mu.Unlock()
			return
		}
		var m struct {
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
			answer
		}
		if err := json.Unmarshal(raw, &m); err == nil && m.ID > 0 {
			if c := b.waiting[m.ID]; c != nil {
				c <- m.answer // it has room for one
				delete(b.waiting, m.ID)
			}
		} else if len(b.heard[m.SessionID]) < maxHeard && (m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded" || m.Method == "Runtime.consoleAPICalled") {
			b.heard[m.SessionID] = append(b.heard[m.SessionID], string(m.Params))
		}
		b.mu.Unlock()
	}
}

func (b *Browser) call(ctx context.Context, session, method string, params, result any) error {
	b.mu.Lock()
	b.last++
	id, c := b.last, make(chan answer, 1)
	b.waiting[id] = c
	b.mu.Unlock()
	ask := map[string]any{"id": id, "method": method}
	if params != nil {
		ask["params"] = params
	}
	if session != "" {
		ask["sessionId"] = session
	}
	raw, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	if err := b.conn.Write(ctx, websocket.MessageText, raw); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case <-b.read:
		return fmt.Errorf("%s: chromium is gone: %w", method, b.err)
	case a := <-c:
		if a.Error != nil {
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	}
}

func (b *Browser) kill() {
	syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL) // Best effort: it may be gone.
}

// PID is that of the browser's main process, which leads its group.
func (b *Browser) PID() int { return b.cmd.Process.Pid }

// Close ends the browser and removes its profile.
func (b *Browser) Close() error {
	b.kill()
	b.cmd.Wait() // It was killed: that is no news.
	if b.conn != nil {
		b.conn.CloseNow() // Best effort: the other end is gone.
	}
	<-b.read
	// Children that were killed with it may still be letting go of files.
	var err error
	for range 50 {
		if err = os.RemoveAll(b.dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
