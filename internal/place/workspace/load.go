package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"den/internal/base/fault"
)

const (
	// maxFile bounds a file, maxFiles those that one workspace may include.
	maxFile  = 256 << 10
	maxFiles = 64
)

// fileNames are the names that Find knows.
var fileNames = []string{"den.toml", "den.yaml", "den.yml"}

// specFileName is what the harness specification calls its file. Find does not
// take it by itself: files of other tools have that name too.
const specFileName = "agents.yaml"

// Find returns the workspace file of dir or of the nearest directory above. A
// file that another user wrote or could replace is passed over: who only works
// below it did not choose it.
func Find(dir string) (string, error) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find workspace from %s: %w", dir, err)
	}
	var refused error // the first file that was passed over
	for at := from; ; at = filepath.Dir(at) {
		found, err := findIn(at)
		if err != nil {
			return "", err
		}
		if found != "" {
			why := checkOwner(found)
			if why == nil {
				return found, nil
			}
			if refused == nil {
				refused = why
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if refused != nil {
		return "", refused
	}
	hint := "den init writes one; -f names one elsewhere"
	if _, err := os.Stat(filepath.Join(from, specFileName)); err == nil {
		hint = "-f " + specFileName + " uses the file of that name; DEN_WORKSPACE names it for all commands"
	}
	return "", fault.Hintf(fault.Errorf(fault.NotFound, "no den.toml or den.yaml in %s or above", from), "%s", hint)
}

func findIn(dir string) (string, error) {
	var found []string
	for _, name := range fileNames {
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err == nil && info.Mode().IsRegular():
			found = append(found, name)
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return "", fmt.Errorf("look for a workspace: %w", err)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return filepath.Join(dir, found[0]), nil
	}
	return "", fault.Hintf(fault.Errorf(fault.Usage, "%s has %s: which one is meant?", dir, strings.Join(found, " and ")),
		"remove one, or name one with -f")
}

// Load reads the workspace file at path with all that it includes. The error
// holds every problem found, as Problems.
func Load(path string) (*Workspace, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("load workspace %s: %w", path, err)
	}
	return load(abs, readFile)
}

func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fault.Errorf(fault.Usage, "%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // Best effort: it was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return string(data), err
}

// load reads files by the function given, so that fuzzers need no disk.
func load(path string, read func(string) (string, error)) (*Workspace, error) {
	l := &loader{read: read, seen: map[string]bool{}}
	tree, err := l.file(path, nil)
	if err != nil {
		return nil, err
	}
	if err := l.report.err(path); err != nil {
		return nil, err
	}
	w := &Workspace{Path: path, Dir: filepath.Dir(path), Files: l.files}
	resolve(w, tree, &l.report)
	if err := l.report.err(path); err != nil {
		return nil, err
	}
	return w, nil
}

// loader reads a file and its includes into one tree.
type loader struct {
	read   func(string) (string, error)
	report report
	files  []string
	seen   map[string]bool
}

// file returns the tree of path with its includes below it. open are the
// files on the way here: one of them again is a circle.
func (l *loader) file(path string, open []string) (*node, error) {
	l.seen[path] = true
	l.files = append(l.files, path)
	text, err := l.read(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Hintf(fault.Errorf(fault.NotFound, "read workspace: %w", err), "den init writes an example")
		}
		return nil, fmt.Errorf("read workspace: %w", err)
	}
	if strings.TrimSpace(text) == "" {
		// An editor that was killed or a full disk leaves such a file; it must not
		// mean that no agent is wanted.
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "read workspace: %s is empty", path), "den init writes an example into another directory")
	}
	tree, err := parse(path, text)
	if err != nil {
		var problems Problems
		if errors.As(err, &problems) {
			l.report.problems = append(l.report.problems, problems...)
			return &node{kind: tableNode, origin: Origin{File: path, Line: 1}}, nil
		}
		return nil, err
	}
	checkTop(tree, &l.report)
	var head file
	head.Version = SchemaVersion
	fields := []entry{{"include", orEmptyList(tree.get("include"))}}
	if v := tree.get("version"); v != nil {
		fields = append(fields, entry{"version", v})
	}
	decode(&node{kind: tableNode, entries: fields}, &head, "the file", &l.report)
	if head.Version != SchemaVersion {
		l.report.add(tree.get("version").origin, "the file has version %d; this den reads version %d", head.Version, SchemaVersion)
	}
	return l.includes(tree, path, head.Include, append(open, path))
}

func orEmptyList(n *node) *node {
	if n == nil {
		return &node{kind: listNode}
	}
	return n
}

// includes lays the tree over what it includes.
func (l *loader) includes(tree *node, path string, names []string, open []string) (*node, error) {
	at := tree.origin
	if n := tree.get("include"); n != nil {
		at = n.origin
	}
	base := &node{kind: tableNode}
	for _, name := range names {
		target := absolute(name, filepath.Dir(path))
		switch {
		case slices.Contains(open, target):
			l.report.add(at, "include '%s' goes in a circle: %s", name, circle(open, target))
		case l.seen[target]:
			// Two files may include a third; it counts once.
		case len(l.files) >= maxFiles:
			l.report.add(at, "more than %d files are included", maxFiles)
		default:
			below, err := l.file(target, open)
			if err != nil {
				l.report.add(at, "include '%s': %v", name, err)
				continue
			}
			base = stack(base, below)
		}
	}
	merged := stack(base, tree)
	l.patch(merged, tree.get("patches"))
	return merged, nil
}

// patch lays the entries of [[patches.agents]] over the agents of this file and
// of those that it includes.
func (l *loader) patch(tree, patches *node) {
	agents := tree.get("agents").items
	for _, patch := range orEmptyList(patches.get("agents")).items {
		var found []int
		for i, agent := range agents {
			if sameWord(agent.get("name"), patch.get("name")) && (patch.get("dir") == nil || sameWord(agent.get("dir"), patch.get("dir"))) {
				found = append(found, i)
			}
		}
		switch len(found) {
		case 0:
			l.report.add(patch.origin, "there is no such agent to patch: 'name', and 'dir' where it is given, are those of an agent of this file or of one that it includes")
		case 1:
			at := agents[found[0]].origin
			agents[found[0]] = overlay(agents[found[0]], patch)
			agents[found[0]].origin = at
		default:
			l.report.add(patch.origin, "there are %d such agents: 'dir' says which one is meant", len(found))
		}
	}
}

func sameWord(a, b *node) bool {
	return a != nil && b != nil && a.kind == scalarNode && b.kind == scalarNode && a.text == b.text
}

// stack lays one file over another: agents are listed one after the other,
// all else merges and the upper file wins.
func stack(base, top *node) *node {
	agents := &node{kind: listNode, origin: top.origin}
	for _, tree := range []*node{base, top} {
		if list := tree.get("agents"); list != nil {
			agents.items = append(agents.items, list.items...)
			agents.origin = list.origin
		}
	}
	merged := overlay(base, top)
	merged.remove("include")
	merged.remove("patches")
	merged.set("agents", agents)
	return merged
}

func parse(path, text string) (*node, error) {
	text = strings.TrimPrefix(text, "\ufeff") // editors of Windows begin files with it
	switch {
	case len(text) > maxFile:
		return nil, Problems{{At: Origin{File: path}, Message: fmt.Sprintf("the file is larger than %d KiB", maxFile>>10)}}
	case nestsTooDeep(text):
		return nil, Problems{{At: Origin{File: path}, Message: "brackets or dashes are nested too deep"}}
	}
	switch ext := filepath.Ext(path); ext {
	case ".toml":
		return parseTOML(path, text)
	case ".yaml", ".yml":
		return parseYAML(path, text)
	default:
		return nil, Problems{{At: Origin{File: path}, Message: fmt.Sprintf("a workspace file ends in .toml, .yaml or .yml, not in '%s'", ext)}}
	}
}

// nestsTooDeep keeps parsers that call themselves from running out of stack.
// It counts roughly, far above what any real file has.
func nestsTooDeep(text string) bool {
	const limit = 1000
	depth, dashes := 0, 0
	for _, c := range []byte(text) {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '-', '?', ':':
			dashes++
		case '\n':
			dashes = 0
		}
		if depth > limit || dashes > 8*limit {
			return true
		}
	}
	return false
}

// checkTop names the keys that the schema does not know, in all tables.
func checkTop(tree *node, r *report) {
	if tree.kind != tableNode {
		r.add(tree.origin, "a workspace is a table of keys, not %s", tree.describe())
		tree.kind, tree.items = tableNode, nil
		return
	}
	renew(tree, r)
	canonical(tree, reflect.TypeFor[file](), "the file", r, slices.Concat(specialKeys, keysOf(noEffectTop()))...)
	agent, unused := reflect.TypeFor[Agent](), keysOf(noEffectAgent())
	for _, key := range specialKeys {
		n := tree.get(key)
		if n == nil {
			continue
		}
		switch {
		case key == "agents" && n.kind == listNode:
			for _, item := range n.items {
				canonical(item, agent, "an agent", r, unused...)
			}
		case key == "patches" && n.kind == tableNode && len(n.entries) == 1 && n.get("agents") != nil && n.get("agents").kind == listNode:
			for _, item := range n.get("agents").items {
				canonical(item, agent, "a patch", r, unused...)
			}
		case key == "defaults" && n.kind == tableNode:
			canonical(n, agent, "[defaults]", r, unused...)
		case key == "presets" && n.kind == tableNode:
			for _, e := range n.entries {
				canonical(e.value, agent, "[presets."+e.key+"]", r, unused...)
			}
		default:
			r.add(n.origin, "'%s' must be %s, not %s", key, map[string]string{
				"agents": "a list ([[agents]])", "defaults": "a table", "presets": "a table of tables", "patches": "a list of agents ([[patches.agents]])"}[key], n.describe())
			tree.remove(key)
		}
	}
}

func circle(open []string, target string) string {
	var names []string
	for _, f := range append(open, target) {
		names = append(names, filepath.Base(f))
	}
	return strings.Join(names, " → ")
}

// absolute makes a path of a file absolute: from the user's directory with
// "~/", else from dir.
func absolute(path, dir string) string {
	if rest, ok := strings.CutPrefix(path+"/", "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// checkOwner refuses a workspace file that another user wrote or could replace:
// its commands would run as this user. Files of root are trusted.
func checkOwner(path string) error {
	for _, part := range []string{path, filepath.Dir(path)} {
		fi, err := os.Stat(part)
		if err != nil {
			return fault.Errorf(fault.KindOf(err), "check workspace %s: %w", path, err)
		}
		hint := "if you trust it, name it: -f " + path
		st, ok := fi.Sys().(*syscall.Stat_t)
		switch open := fi.Mode().Perm()&0o002 != 0; {
		case ok && st.Uid != 0 && int(st.Uid) != os.Geteuid():
			return fault.Hintf(fault.Errorf(fault.Denied, "%s belongs to user %d: it is not used", part, st.Uid), "%s", hint)
		case open && fi.Mode()&os.ModeSticky == 0:
			return fault.Hintf(fault.Errorf(fault.Denied, "every user may write to %s: it is not used", part), "%s", hint)
		}
	}
	return nil
}

// LoadRules reads a file that has nothing but rules, as an agent's
// 'permissions' has them.
func LoadRules(path string) ([]PermissionRule, error) {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Errorf(fault.NotFound, "read rules: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	tree, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	var r report
	var file struct {
		Permissions []PermissionRule `key:"permissions"`
	}
	canonical(tree, reflect.TypeOf(file), "a file of rules", &r)
	decode(tree, &file, "a file of rules", &r)
	return file.Permissions, r.err(path)
}
