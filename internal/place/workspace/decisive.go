package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/lazy"
	"den/internal/place/decisive"
)

// Decisive lists the files that loading the workspace and starting its agents
// reads, and those that their commands name: whoever changes one changes what
// runs, what is allowed or what an agent is told. dirs returns the directories
// that an agent may run in besides its own, or is nil.
func (w *Workspace) Decisive(dirs func(*Agent) []string) []decisive.File {
	var all []decisive.File
	add := func(path, role string, shown bool) {
		if path == "" || slices.ContainsFunc(all, func(f decisive.File) bool { return f.Path == path }) {
			return
		}
		all = append(all, decisive.File{Path: path, Role: role, Shown: shown})
	}
	for _, file := range w.Files {
		add(file, "workspace file", false)
	}
	for i := range w.Agents {
		a := &w.Agents[i]
		whose := " of agent " + a.Name
		add(a.PromptTemplate, "prompt"+whose, true)
		add(a.Hints.SessionSetupScript, "session_setup_script"+whose, true)
		add(a.Hints.OverlayDir, "overlay_dir"+whose, true)
		for _, c := range a.Hints.CopyFiles {
			add(c.Src, "copy_files"+whose, true)
		}
		for _, secret := range a.Env.Secrets {
			add(secret.File, "env"+whose, false)
		}
		for _, path := range tablePaths(a.Tables, a.Dir) {
			add(path, "container or cluster"+whose, false)
		}
		in := []string{a.Dir}
		if dirs != nil {
			in = append(in, dirs(a)...)
		}
		for _, command := range a.Runs() {
			for _, file := range filesIn(command, in) {
				add(file, "commands"+whose, true)
			}
		}
		if len(a.StartCommand) > 0 {
			add(program(a.StartCommand[0], a.Dir), "start_command"+whose, false)
		}
	}
	for _, file := range filesIn(strings.Join(w.Supervisor.Command, " "), []string{w.Dir}) {
		add(file, "supervisor.command", true)
	}
	for _, path := range tablePaths(w.Session.Tables, w.Dir) {
		add(path, "session", false)
	}
	add(w.Server.TLSCert, "server.tls_cert", false)
	add(w.Server.TLSKey, "server.tls_key", false)
	return all
}

// tablePaths are what a provider reads: how an image is built, and how a cluster
// is reached, which may be by a program. Mounts are not among them: agents work
// there. Where an agent works in what an image is built of, only what says how
// is: the rest is its work.
func tablePaths(t ProviderTables, dir string) []string {
	var all []string
	if n := anchored(t.Kubernetes.node.get("kubeconfig"), dir); n != nil {
		all = append(all, n.text)
	}
	if n := anchored(t.Container.node.get("context"), dir); n != nil {
		if rel, err := filepath.Rel(n.text, dir); err == nil && filepath.IsLocal(rel) {
			all = append(all, filepath.Join(n.text, "Containerfile"), filepath.Join(n.text, "Dockerfile"), filepath.Join(n.text, ".containerignore"), filepath.Join(n.text, ".dockerignore"))
		} else {
			all = append(all, n.text)
		}
	}
	return all
}

// field is one that is filled in when a command runs.
var field = lazy.Regexp{Expr: `\{\{[^}]*\}\}`}

// maxGlob bounds how many files a word with fields to fill in may stand for.
const maxGlob = 1000

// filesIn returns the files that the words of a command may stand for. It splits
// where a shell might, so it takes too many rather than too few. A word that
// names nothing yet counts if it looks like a path.
func filesIn(command string, dirs []string) []string {
	var all []string
	for _, dir := range dirs {
		line := field.Get().ReplaceAllStringFunc(command, func(field string) string {
			if strings.Contains(field, ".WorkDir") {
				return dir
			}
			return "*" // any name
		})
		for _, line := range []string{line, os.ExpandEnv(line)} {
			for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()'\"`=,", r) }) {
				path := absolute(word, dir)
				matches := []string{path}
				if strings.Contains(word, "*") {
					matches, _ = filepath.Glob(path) // Best effort: a pattern that is none names nothing
				}
				for _, path := range matches[:min(len(matches), maxGlob)] {
					if isProgramFile(path, word) && !slices.Contains(all, path) {
						all = append(all, path)
					}
				}
			}
		}
	}
	return all
}

func isProgramFile(path, word string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return strings.ContainsAny(word, "/") && !strings.ContainsAny(word, ":$")
	}
	return info.Mode().IsRegular()
}

// program is the file of a command's first word, "" if it is not found.
func program(word, dir string) string {
	if strings.Contains(word, "/") {
		return absolute(word, dir)
	}
	path, err := exec.LookPath(word)
	if err != nil {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}
