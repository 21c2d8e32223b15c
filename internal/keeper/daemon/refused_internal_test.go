package daemon

import (
	"path/filepath"
	"testing"

	"den/internal/agent/harness"
	"den/internal/base/fault"
)

// A file that is refused when its agents are made, after it was read well,
// changes nothing: neither what providers are opened with, nor the servers that
// run, nor what a harness reads when it is started again.
func TestRefusedFileLeavesNothing(t *testing.T) {
	const mind = "[[agents]]\nname = \"m\"\nagent = \"script\"\nstart_command = \"cat\"\nchannels = [\"#general\"]\nmodel = "
	d := planned(t, mind+"\"one\"\n")
	d.owner.keeps = true
	t.Cleanup(d.chat.Close)
	if err := d.load(false); err != nil { // it serves the channels from now on
		t.Fatal(err)
	}
	rewrite(t, d, mind+`"two"
[server]
name = "other"
[session.container]
engine = "docker"
[[agents]]
name = "t"
start_command = "cat"
session_provider = "tmux"
[[agents]]
name = "z"
start_command = "cat"
prompt_mode = "arg"
prompt_template = "`+filepath.Join(t.TempDir(), "gone")+`"
`)
	if err := d.load(false); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("%v, want that a prompt is not there", err)
	}
	if !d.providers.session.Tables.Of("container").IsEmpty() {
		t.Error("providers would be opened as it says")
	}
	if _, ok := d.providers.lookup("tmux"); ok {
		t.Error("a provider was opened for it")
	}
	if chat, err := d.chat.Now(); err != nil || !chat.Runs || chat.Settings.Name != "" {
		t.Errorf("the server for channels is %+v of it, %v", chat, err)
	}
	c, err := harness.Load(d.harnessDir("m"))
	if err != nil || c.Model != "one" {
		t.Errorf("the harness reads model %q, %v", c.Model, err)
	}
	if d.sources.lookup("z") != nil || len(d.sources.old) > 0 {
		t.Error("sources of states were made for it")
	}
}
