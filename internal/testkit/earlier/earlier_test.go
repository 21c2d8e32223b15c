package earlier_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent/budget"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/sources"
	"den/internal/agent/harness"
	"den/internal/agent/harness/turns"
	"den/internal/agent/permission"
	"den/internal/base/fault"
	"den/internal/base/journal"
	"den/internal/chat/irc/ircd"
	chat "den/internal/chat/irc/ircd/history"
	"den/internal/keeper"
	"den/internal/place/provider/native"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/place/worktree"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/testkit/earlier"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/instance"
	"den/internal/ticks/registry"
	"den/internal/ticks/wake"
	"den/internal/ui/dashboard/web"
)

// The ids of the first session and of the first agent's.
const (
	shell     = "01m7r4mjx65rv8xrytxmbs"
	coder     = "01m7r4mkpkq0t0xjsxcbjf"
	workspace = "w3606cc03529275b4"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestSessions(t *testing.T) {
	root := home.Home{Path: filepath.Join(earlier.Files(t), "home")}
	m, err := root.Dir(shell).Load()
	noError(t, err)
	equal(t, "the name", m.Name, "shell")
	equal(t, "the status", m.Status, home.Destroyed)
	equal(t, "the last event", m.FinalSeq > 0, true)
	equal(t, "what was noted", m.Noted != nil, true)

	// What this build does not know stays.
	file := filepath.Join(root.Dir(shell).Path, "session.json")
	data, err := os.ReadFile(file)
	noError(t, err)
	noError(t, os.WriteFile(file, []byte(strings.Replace(string(data), "{", `{"of_tomorrow": [1],`, 1)), 0o600))
	m, err = root.Dir(shell).Load()
	noError(t, err)
	noError(t, root.Dir(shell).Save(m))
	var kept map[string]json.RawMessage
	data, err = os.ReadFile(file)
	noError(t, err)
	noError(t, json.Unmarshal(data, &kept))
	equal(t, "the unknown key", len(kept["of_tomorrow"]) > 0, true)

	n, err := root.Dir(coder).LoadAgentNote()
	noError(t, err)
	equal(t, "the agent", n.Agent, "coder")
	equal(t, "the source", n.Source, "kernel")

	homes, err := home.Registry{Path: filepath.Join(root.Path, "..", "homes.json")}.Homes()
	noError(t, err)
	equal(t, "the Home", homes[0].Path, "/tmp/den85/home/.den")
}

func TestCells(t *testing.T) {
	root := home.Home{Path: filepath.Join(earlier.Files(t), "home")}
	cells := cell.Store{Dir: root.Dir(shell).Cells()}
	last, err := cells.Load("")
	noError(t, err)
	equal(t, "the last cell", last.CellID, "01m7r4mkject3ybk94hw4e")
	equal(t, "how it ended", last.By, cell.By("exit"))
	first, err := cells.Load("01m7r4mk0vx09qtcmfa9sf")
	noError(t, err)
	equal(t, "the output", first.Output, "hello")
	equal(t, "the status", *first.ExitCode, 0)
	failed, err := cells.Load("01m7r4mk28556ry19exvfh")
	noError(t, err)
	equal(t, "the status", *failed.ExitCode, 1)

	j, err := cells.Reopen(first.CellID)
	noError(t, err)
	first.Output = "changed"
	noError(t, j.Save(first))
	noError(t, j.Close())
	first, err = cells.Load(first.CellID)
	noError(t, err)
	equal(t, "the changed output", first.Output, "changed")

	var artifacts []home.Artifact
	data, err := os.ReadFile(filepath.Join(root.Dir(shell).Artifacts(), "manifest.jsonl"))
	noError(t, err)
	for line := range strings.Lines(string(data)) {
		var a home.Artifact
		noError(t, json.Unmarshal([]byte(line), &a))
		artifacts = append(artifacts, a)
	}
	equal(t, "the artifact", artifacts[0].Kind, "snapshot")
}

func TestPlaces(t *testing.T) {
	root := filepath.Join(earlier.Files(t), "home")
	noError(t, os.MkdirAll(filepath.Join(root, "names"), 0o700))
	noError(t, os.Symlink(filepath.Join("..", "sessions", coder), filepath.Join(root, "names", workspace+".den-old-coder")))
	p, err := native.Open(native.Options{Home: home.Home{Path: root}, Owner: workspace, Binary: "/bin/den"})
	noError(t, err)
	life, err := p.GetMeta(t.Context(), "den-old-coder", "den.life")
	noError(t, err)
	equal(t, "the life", life, "01m7r4mkpkqmkqv2q495nc")

	dir := shim.Dir(filepath.Join(root, "workspaces", workspace, "subprocess", workspace, "sessions", "den-old-pipes"))
	r, err := dir.Record()
	noError(t, err)
	equal(t, "the command", strings.Join(r.Argv, " "), "sh -c echo begun; exec cat")
	end, err := dir.End()
	noError(t, err)
	equal(t, "the status", end.Code, 130)

	// The tree is not where the record says: it was copied.
	_, err = worktree.Records(filepath.Join(root, "workspaces", workspace, "worktrees"))
	if err == nil || !strings.Contains(err.Error(), "was moved") {
		t.Errorf("the record of the worktree: %v", err)
	}
}

func TestKeeper(t *testing.T) {
	dir := earlier.Files(t)
	s := keeper.StateDir{Path: filepath.Join(dir, "keeper"), Config: "den.toml"}
	r, err := s.Load()
	noError(t, err)
	equal(t, "the process", r.PID, 9601)
	equal(t, "the file", r.File, "den.toml")
	var seqs []uint64
	noError(t, keeper.ReadEvents(s, keeper.EventsFrom{Agent: "coder"}, func(e keeper.Event) error {
		seqs = append(seqs, e.Seq)
		return nil
	}))
	equal(t, "the events of coder", len(seqs) > 5 && slices.IsSorted(seqs), true)

	// The Home has moved with it: the registration is found there.
	registration := filepath.Join(dir, "home", "workspaces", workspace, "workspace.json")
	for _, file := range []string{registration, filepath.Join(s.Path, "workspace.json")} {
		data, err := os.ReadFile(file)
		noError(t, err)
		moved := strings.NewReplacer("/tmp/den85/home/.den", filepath.Join(dir, "home"), "/tmp/den85/repo/.den", s.Path)
		noError(t, os.WriteFile(file, []byte(moved.Replace(string(data))), 0o600))
	}
	i, err := s.Identify(keeper.Caller{Home: home.Home{Path: filepath.Join(dir, "home")}, Getenv: func(string) string { return "" }})
	noError(t, err)
	equal(t, "the workspace", i.ID, workspace)
}

func TestMessages(t *testing.T) {
	dir := filepath.Join(earlier.Files(t), "keeper")
	q, err := outbox.Open(filepath.Join(dir, "nudges", "echo"))
	noError(t, err)
	equal(t, "the damaged files", len(q.Damaged()), 0)
	equal(t, "the messages", len(q.List()), 2)
	m, err := outbox.Open(filepath.Join(dir, "minds", "coder", "queue"))
	noError(t, err)
	equal(t, "the messages of coder", len(m.List()), 6)
	texts := ""
	for _, one := range m.List() {
		texts += one.Text + "\n"
	}
	equal(t, "the texts", strings.Contains(texts, "run make check"), true)
}

func TestHarness(t *testing.T) {
	dir := filepath.Join(earlier.Files(t), "keeper", "minds", "coder")
	c, err := harness.Load(dir)
	noError(t, err)
	equal(t, "the agent", c.Agent, "coder")
	equal(t, "the limit", c.Budget.Hour.Turns, 400)
	ledger, err := budget.Open(filepath.Join(dir, "budget.json"), c.Budget)
	noError(t, err)
	equal(t, "the turns", ledger.Check(time.Date(2026, 11, 18, 20, 20, 0, 0, time.UTC)).Lines[0].Used, 6.0)
	page, err := turns.Read(dir, 0, 0, 1000)
	noError(t, err)
	equal(t, "the entries of turns", len(page.Entries) > 10 && page.Entries[0].Seq == 1, true)
	log, err := turns.Open(dir)
	noError(t, err)
	noError(t, log.Add(turns.Entry{Text: "more"}))
	more, err := turns.Read(dir, uint64(len(page.Entries)), 0, 10)
	noError(t, err)
	equal(t, "the next entry", more.Entries[0].Seq, uint64(len(page.Entries))+1)

	entries, damaged, err := permission.ReadAudit(filepath.Join(dir, "permission"))
	noError(t, err)
	equal(t, "the damaged lines", damaged, 0)
	equal(t, "the first decision", entries[1].Rule, "allow tool 'Bash' kind 'execute' command 'make check'")
	approvals, files, err := permission.List(filepath.Join(dir, "permission"))
	noError(t, err)
	equal(t, "the damaged files", len(files), 0)
	states := []string{}
	for _, a := range approvals {
		states = append(states, string(a.State))
	}
	equal(t, "the approvals", strings.Join(states, " "), "withdrawn denied approved")

	_, err = sources.Agent{Vendor: "opencode", Dir: filepath.Join(dir, "..", "..", "sources", "source"), Processes: func(context.Context) ([]int, error) { return nil, nil }}.Open()
	noError(t, err)
}

func TestChat(t *testing.T) {
	dir := filepath.Join(earlier.Files(t), "keeper", "chat")
	accounts, err := ircd.OpenAccounts(filepath.Join(dir, "accounts.json"))
	noError(t, err)
	equal(t, "the account", strings.Join(accounts.Names(), " "), "bob")
	page, err := chat.Read(filepath.Join(dir, "history"), 0, 10, func(chat.Record) bool { return true })
	noError(t, err)
	equal(t, "the messages", len(page.Records), 2)
	equal(t, "the text", page.Records[0].Text, "@coder say hello")
	log, err := chat.Open(filepath.Join(dir, "history"), chat.Options{})
	noError(t, err)
	equal(t, "the damaged records", log.Damaged(), 0)
	next, err := log.Append(chat.Record{Conversation: "#general", Command: "PRIVMSG", Source: "me", Target: "#general", Text: "more"})
	noError(t, err)
	equal(t, "the order", next.ID > page.Records[1].ID, true)
	noError(t, log.Close())
}

func TestPageActions(t *testing.T) {
	var said []string
	file := filepath.Join(earlier.Files(t), "home", "page-actions.jsonl")
	noError(t, journal.Read(file, journal.Limits{Bytes: 1 << 20}, func(line []byte) error {
		var e web.AuditEntry
		noError(t, json.Unmarshal(line, &e))
		said = append(said, e.Action+" "+e.Event)
		return nil
	}))
	equal(t, "the actions", strings.Join(said, ", "), "message asked, message done, order asked, order failed")
}

func TestTicks(t *testing.T) {
	dir := earlier.Files(t)
	known, err := registry.Registry{Path: filepath.Join(dir, "kernel.json")}.List()
	noError(t, err)
	equal(t, "the instance", known[0].Name, "demo")
	d := instance.Dir{Path: filepath.Join(dir, "instance")}
	s, found, err := d.PeekTick()
	noError(t, err)
	equal(t, "a tick", found, true)
	equal(t, "its number", s.Tick, 2)
	equal(t, "its stage", string(s.Stage), "done")
	m, err := d.PeekMemory()
	noError(t, err)
	equal(t, "its failures", m.Failures, 0)
	equal(t, "its end", m.Ended.IsZero(), false)

	repo, err := datarepo.Open(filepath.Join(dir, "data"), filepath.Join(dir, "instance"))
	noError(t, err)
	defer repo.Close()
	first, err := history.Read(repo, 1)
	noError(t, err)
	equal(t, "the outcome", string(first.Outcome.Reason), "normal")
	equal(t, "the terminals", len(first.Terminals) > 0, true)
	look, err := wake.New(repo, filepath.Join(dir, "instance", "wakes.json"), time.UTC).Look(t.Context(), time.Date(2026, 11, 18, 22, 0, 0, 0, time.UTC))
	noError(t, err)
	equal(t, "the problems", len(look.Problems), 0)
	equal(t, "what is due", len(look.Due), 1) // the other was acknowledged
	equal(t, "its reason", look.Due[0].Reason, "hourly")
}

// A file of a newer build is refused, with both versions.
func TestNewerIsRefused(t *testing.T) {
	dir := earlier.Files(t)
	newer := func(name string) string {
		file := filepath.Join(dir, name)
		data, err := os.ReadFile(file)
		noError(t, err)
		noError(t, os.WriteFile(file, []byte(strings.NewReplacer(`"v": 1`, `"v": 907`, `"v":1`, `"v":907`, `"v":2`, `"v":907`, `"version": 1`, `"version": 907`, `"version":1`, `"version":907`).Replace(string(data))), 0o600))
		return file
	}
	refused := func(name string, err error) {
		t.Helper()
		if kind := fault.KindOf(err); kind != fault.Protocol && kind != fault.Unsupported || !strings.Contains(err.Error(), "907") || !strings.Contains(err.Error(), "1") && !strings.Contains(err.Error(), "2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	root := home.Home{Path: filepath.Join(dir, "home")}
	d := instance.Dir{Path: filepath.Join(dir, "instance")}
	mind := filepath.Join(dir, "keeper", "minds", "coder")
	tried := map[string]func() error{
		"home/sessions/" + shell + "/session.json": func() error { _, err := root.Dir(shell).Load(); return err },
		"home/sessions/" + shell + "/cells/01m7r4mk0vx09qtcmfa9sf.jsonl": func() error {
			_, err := cell.Store{Dir: root.Dir(shell).Cells()}.Load("01m7r4mk0vx09qtcmfa9sf")
			return err
		},
		"home/workspaces/" + workspace + "/worktrees/tree/worktree.json": func() error {
			_, err := worktree.Records(filepath.Join(root.Path, "workspaces", workspace, "worktrees"))
			return err
		},
		"keeper/keeper.json":             func() error { _, err := keeper.StateDir{Path: filepath.Join(dir, "keeper")}.Load(); return err },
		"keeper/minds/coder/config.json": func() error { _, err := harness.Load(mind); return err },
		"keeper/minds/coder/budget.json": func() error { _, err := budget.Open(filepath.Join(mind, "budget.json"), budget.Limits{}); return err },
		"keeper/minds/coder/turns.jsonl": func() error { _, err := turns.Open(mind); return err },
		"keeper/chat/accounts.json": func() error {
			_, err := ircd.OpenAccounts(filepath.Join(dir, "keeper", "chat", "accounts.json"))
			return err
		},
		"keeper/chat/history/history-00000001.jsonl": func() error {
			_, err := chat.Open(filepath.Join(dir, "keeper", "chat", "history"), chat.Options{})
			return err
		},
		"kernel.json":         func() error { _, err := registry.Registry{Path: filepath.Join(dir, "kernel.json")}.List(); return err },
		"instance/tick.json":  func() error { _, _, err := d.PeekTick(); return err },
		"instance/watch.json": func() error { _, err := d.PeekMemory(); return err },
	}
	for name, load := range tried {
		newer(name)
		refused(name, load())
	}
}
