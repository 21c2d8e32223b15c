package gemini

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
	"den/internal/base/fault"
)

// RecordName is what Reply.Source says.
const RecordName = "gemini chat file"

// chats are the chat files that are followed for one message.
type chats struct {
	mu    sync.Mutex // guards the fields below, and is held while files are read
	asked conversation.Asked
	open  map[string]*openChat // by path
}

type openChat struct {
	watch.Tail
	chat chat
}

var _ conversation.Replier = (*Source)(nil)

// ReplyTo reads the chat files of the directory that the agent works in.
// Nothing says which of them is the agent's, so the message must be in one
// alone.
func (s *Source) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	if s.options.Home == "" {
		return conversation.Reply{}, fault.Errorf(fault.Unsupported, "Gemini's directory is not known")
	}
	pids, err := s.options.Processes(ctx)
	if err != nil {
		return conversation.Reply{}, err
	}
	state, err := s.State(ctx) // before the files: what they tell then is no older
	if err != nil {
		return conversation.Reply{}, err
	}
	return s.chats.reply(chatFiles(s.options.Home, workDirs(pids), m.Handed), m, state.Activity == conversation.Ready)
}

func (c *chats) reply(paths []string, m conversation.Asked, ready bool) (conversation.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != m {
		c.asked, c.open = m, map[string]*openChat{}
	}
	var replies []conversation.Reply
	for _, path := range paths {
		o := c.open[path]
		if o == nil {
			o = &openChat{Tail: watch.Tail{Path: path}}
			c.open[path] = o
		}
		if err := o.Read(func() { o.chat = chat{} }, o.chat.applyLine); err != nil {
			return conversation.Reply{}, err
		}
		if r, found := o.chat.replyTo(m, ready); found {
			replies = append(replies, r)
		}
	}
	if len(replies) != 1 {
		return conversation.Reply{}, fault.Errorf(fault.NotFound, "%d of Gemini's chats have the message", len(replies))
	}
	return replies[0], nil
}

// workDirs are the directories that processes work in.
func workDirs(pids []int) []string {
	var dirs []string
	for _, pid := range pids {
		// Best effort: one that has ended works nowhere.
		if dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd"); err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// chatFiles lists the chats of directories that were written since a time. A
// directory's chats are below one that names it in .project_root.
func chatFiles(home string, dirs []string, since time.Time) []string {
	roots, err := filepath.Glob(filepath.Join(home, "tmp", "*", ".project_root"))
	if err != nil {
		return nil // the home's name is no pattern's fault: there is nothing to find
	}
	var files []string
	for _, root := range roots {
		named, err := os.ReadFile(root)
		if err != nil || !slices.Contains(dirs, strings.TrimSpace(string(named))) {
			continue
		}
		found, err := filepath.Glob(filepath.Join(filepath.Dir(root), "chats", "session-*.jsonl"))
		if err != nil {
			continue
		}
		for _, path := range found {
			if fi, err := os.Stat(path); err == nil && !fi.ModTime().Before(since.Add(-time.Second)) { // times of files are coarse
				files = append(files, path)
			}
		}
	}
	return files
}
