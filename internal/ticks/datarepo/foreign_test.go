package datarepo_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/ticks/datarepo"
)

// foreign is a data repository as agent-kernel and the tools of an agent leave
// it.
var foreign = map[string]string{
	"README.md":                      "# me\n",
	"notes/diary.md":                 "quiet day\n",
	"sandbox/x.py":                   "print(1)\n",
	"system/prompt.md":               "You are a scout.\n",
	"system/agent_config.json":       "{\n    \"model\": \"claude-opus-4-6\",\n    \"initial_query\": \"Tick {tick} in {data_dir}\",\n    \"hook_env_prefix\": \"SCOUT\",\n    \"favourite\": [1, 2.0, \"\\u00e9\"]\n}",
	"system/startup.json":            `{"ttys": [{"tty": 0, "command": "bash", "label": "main"}, {"tty": 1, "command": "python3 -q", "label": "py"}]}`,
	"system/schedule.json":           `{"wakes": [{"time": "2026-02-01T09:30:00", "reason": "a", "fulfilled": true, "fulfilled_at": "2026-02-01T09:30:02.123456"}]}`,
	"system/state.json":              "{\n  \"tick_count\": 112,\n  \"last_tick\": \"2026-02-01T09:30:02.123456\",\n  \"last_tick_end\": \"2026-02-01T09:41:00.000001\",\n  \"first_tick_date\": \"2025-12-24\"\n}",
	"system/crash_state.json":        `{"last_notify": "2026-01-31T12:00:00", "error_hash": "0cc175b9"}`,
	"system/crash_notify.txt":        "a",
	"system/logs/tick-112.jsonl":     "{}\n",
	"system/logs/watcher.log":        "[2026-02-01 09:30:02] [watcher] [INFO] src.watcher: x\n",
	"system/hooks/post-tick/commit":  "#!/bin/sh\ngit commit -qam x\n",
	"system/container/Containerfile": "FROM ubuntu\n",
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, rerr := filepath.Rel(dir, path)
		if rerr != nil {
			return rerr
		}
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Such a repository is read as it is, and reading it changes nothing.
func TestForeignRepository(t *testing.T) {
	r := open(t)
	for name, text := range foreign {
		write(t, r, name, text)
	}
	if err := r.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	c, err := r.Config()
	if err != nil || c.HookEnvPrefix != "SCOUT" || c.Query(113, "/d") != "Tick 113 in /d" || c.MaxThinkingTokens != 16000 || c.Container.Engine != datarepo.Auto {
		t.Errorf("%+v, %v", c, err)
	}
	if has, err := r.HasContainerfile(); !has || err != nil {
		t.Errorf("%v, %v", has, err)
	}
	if text, err := r.Prompt(); text != "You are a scout.\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if got, err := r.Startup(); err != nil || !slices.Equal(got, []datarepo.Terminal{{Command: "bash", Label: "main"}, {Number: 1, Command: "python3 -q", Label: "py"}}) {
		t.Errorf("%+v, %v", got, err)
	}
	s, told, err := r.StateForTick(time.Now())
	if err != nil || told != "" || s.TickCount != 112 || s.FirstTickDate != "2025-12-24" || s.LastTickEnd.Nanosecond() != 1000 {
		t.Errorf("%+v, %q, %v", s, told, err)
	}
	if got := files(t, r.Path()); !maps.Equal(got, foreign) {
		t.Errorf("%v", got)
	}
	if err := r.EditState(t.Context(), func(s *datarepo.State) error { s.TickCount++; return nil }); err != nil {
		t.Fatal(err)
	}
	got := files(t, r.Path())
	if want := strings.Replace(foreign["system/state.json"], "112", "113", 1) + "\n"; got["system/state.json"] != want {
		t.Errorf("%s\nwant\n%s", got["system/state.json"], want)
	}
}
