package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"den/internal/chat/irc"

	"github.com/fsnotify/fsnotify"
)

// mentions measures how long a mention takes to the agent and back, and how
// many are answered when they come at once.
func (b *bench) mentions(t *team) (err error) {
	// The first mention of each makes its queue's directory.
	for i := range t.n {
		if _, err := t.mention(i, fmt.Sprint("first", i)); err != nil {
			return err
		}
	}
	w, err := t.watchQueues()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	of := fmt.Sprintf("%d agents, mention", t.n)
	disk := b.out.series(of+" to prompt on disk", "den", "ms", false)
	stdin := b.out.series(of+" to the script's standard input", "den", "ms", false)
	answer := b.out.series(of+" to its answer in the channel", "den", "ms", false)
	for i := range b.rounds(300, 20) {
		if i%10 == 0 {
			b.calm.await()
		}
		begun := time.Now()
		read, err := t.mention(i%t.n, fmt.Sprint("m", i))
		if err != nil {
			return err
		}
		answer.add(msSince(begun))
		stdin.add(float64(read.Sub(begun).Microseconds()) / 1000)
		kept, err := w.keptAfter(t.queue(i%t.n), begun)
		if err != nil {
			return err
		}
		disk.add(float64(kept.Sub(begun).Microseconds()) / 1000)
	}
	for _, s := range []*series{disk, stdin, answer} {
		s.Note = fmt.Sprintf("p99 %s ms", number(s.quantile(0.99)))
	}
	return b.rush(t)
}

// rush asks all agents at once.
func (b *bench) rush(t *team) error {
	const mentions = 200
	rate := b.out.series(fmt.Sprintf("%d agents, %d mentions at once", t.n, mentions), "den", "answers/s", true)
	var text []byte
	for i := range mentions {
		text = fmt.Appendf(text, "PRIVMSG %s :@%s r%d\r\n", teamChannel, teamAgent(i%t.n), i)
	}
	return b.race(b.rounds(3, 1), lane{rate, func() (float64, error) {
		begun := time.Now()
		if _, err := t.person.conn.Write(text); err != nil {
			return 0, err
		}
		err := t.person.count(mentions)
		return mentions / time.Since(begun).Seconds(), err
	}})
}

// mention mentions an agent, waits for its answer, and returns when its script
// had read the prompt.
func (t *team) mention(i int, word string) (read time.Time, err error) {
	if err := t.person.send("PRIVMSG %s :@%s %s", teamChannel, teamAgent(i), word); err != nil {
		return read, err
	}
	answer := ""
	err = t.person.until(func(m irc.Message) bool {
		at, said, _ := strings.Cut(m.Last(), " ")
		if m.Command == "PRIVMSG" && said == word {
			answer = at
		}
		return answer != ""
	})
	if err != nil {
		return read, err
	}
	seconds, micros, _ := strings.Cut(answer, ".")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	return time.Unix(s, us*1000), errors.Join(err1, err2)
}

// queueWatch notes when prompts come to be on disk.
type queueWatch struct {
	watcher *fsnotify.Watcher
	ended   chan struct{}

	mu    sync.Mutex           // guards the fields below
	files map[string]bool      // that were seen
	kept  map[string]time.Time // by directory: when its newest file came
}

func (t *team) watchQueues() (*queueWatch, error) {
	watcher, err := fsnotify.NewBufferedWatcher(1 << 10)
	if err != nil {
		return nil, err
	}
	w := &queueWatch{watcher: watcher, ended: make(chan struct{}), files: map[string]bool{}, kept: map[string]time.Time{}}
	for i := range t.n {
		old, err := filepath.Glob(filepath.Join(t.queue(i), "*.json"))
		for _, name := range old {
			w.files[name] = true
		}
		if err = errors.Join(err, watcher.Add(t.queue(i))); err != nil {
			return nil, errors.Join(err, watcher.Close())
		}
	}
	go w.run() // close waits for it
	return w, nil
}

// run notes new files. A record is written beside its place and moved there;
// later changes replace it, which is not of interest.
func (w *queueWatch) run() {
	defer close(w.ended)
	for e := range w.watcher.Events {
		at := time.Now()
		if !e.Has(fsnotify.Create) || !strings.HasSuffix(e.Name, ".json") {
			continue
		}
		w.mu.Lock()
		if !w.files[e.Name] {
			w.files[e.Name], w.kept[filepath.Dir(e.Name)] = true, at
		}
		w.mu.Unlock()
	}
}

// keptAfter returns when the prompt of a mention was on disk, which it is: the
// mention was answered.
func (w *queueWatch) keptAfter(dir string, begun time.Time) (time.Time, error) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		at := w.kept[dir]
		w.mu.Unlock()
		if at.After(begun) {
			return at, nil
		}
		if time.Now().After(deadline) {
			return at, errors.New("no prompt came to " + filepath.Base(filepath.Dir(dir)))
		}
	}
}

func (w *queueWatch) close() error {
	err := w.watcher.Close()
	<-w.ended
	return err
}
