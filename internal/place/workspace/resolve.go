package workspace

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"den/internal/base/ident"
)

// resolve decodes a tree into w: the sections first, then each agent through
// its layers.
func resolve(w *Workspace, tree *node, r *report) {
	var top file
	sections := overlay(&node{kind: tableNode, entries: []entry{
		{"keeper", builtin.Get().get("keeper")},
	}}, tree)
	if tree.get("supervisor") != nil {
		sections.set("supervisor", overlay(builtin.Get().get("supervisor"), tree.get("supervisor")))
	}
	engineTable(sections)
	certificatePaths(sections.get("server"), w.Dir)
	decode(sections, &top, "the file", r)
	w.SessionTemplate, w.Suspended = top.Workspace.SessionTemplate, top.Workspace.Suspended
	w.Session, w.Keeper = top.Session, top.Keeper
	w.Server, w.Supervisor, w.Webhooks = top.Server, top.Supervisor.withCommand(), top.Webhooks
	w.Name = workspaceName(w, top, tree, r)

	a := &resolver{w: w, tree: tree, top: top, report: r}
	a.widePlaces()
	if w.Session.Provider == "" {
		w.Session.Provider = "native"
	}
	for i, n := range orEmptyList(tree.get("agents")).items {
		if n.kind != tableNode {
			r.add(n.origin, "agent %d must be a table, not %s", i+1, n.describe())
			continue
		}
		w.Agents = append(w.Agents, a.agent(n))
	}
	validate(w, tree, r)
	w.Warnings = append(w.Warnings, r.hints()...)
}

// engineTable moves the short forms of the container engine's keys to where its
// provider reads them.
func engineTable(sections *node) {
	session := sections.get("session")
	if session == nil || session.kind != tableNode {
		return
	}
	for _, key := range []string{"engine", "socket"} {
		value := session.get(key)
		if value == nil {
			continue
		}
		table := &node{kind: tableNode, origin: value.origin, entries: []entry{{key, value}}}
		session.set("container", overlay(table, session.get("container")))
		session.remove(key)
	}
}

// certificatePaths makes the files of the server's certificate absolute.
func certificatePaths(server *node, dir string) {
	for _, key := range []string{"tls_cert", "tls_key"} {
		if n := server.get(key); n != nil {
			server.set(key, anchored(n, dir))
		}
	}
}

func workspaceName(w *Workspace, top file, tree *node, r *report) string {
	name, at := top.Workspace.Name, tree.origin
	if n := tree.get("workspace").get("name"); n != nil {
		at = n.origin
	} else if n := tree.get("server").get("name"); n != nil {
		name, at = top.Server.Name, n.origin
	}
	if name == "" {
		w.NameDerived = true
		return nameFrom(filepath.Base(w.Dir))
	}
	if err := ident.Check("workspace", name); err != nil {
		r.add(at, "%v", err)
	}
	return name
}

// nameFrom makes a name out of a directory's.
func nameFrom(base string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && ident.Check("workspace", "x"+string(r)) == nil {
			return r
		}
		return '-'
	}, base)
	for strings.Contains(name, "..") {
		name = strings.ReplaceAll(name, "..", ".")
	}
	name = strings.Trim(name, "-.")
	if ident.Check("workspace", name) != nil {
		return "workspace"
	}
	return name
}

type resolver struct {
	w      *Workspace
	tree   *node
	top    file
	report *report
}

// agent lays the layers of one agent together.
func (a *resolver) agent(n *node) Agent {
	said := a.said(n)
	merged := &node{kind: tableNode}
	for _, layer := range a.layers(n, said) {
		merged = overlay(merged, withSandboxTable(layer))
	}
	merged.origin = n.origin
	if pool := merged.get("pool"); pool != nil {
		merged.set("pool", overlay(builtin.Get().get("pool"), pool))
	}
	preset := ""
	if said != nil {
		preset = said.text
		merged.set("agent", said)
	}
	backend := a.drive(merged, n, said)
	a.hintProvider(n, backend)
	if channels := n.get("channels"); channels != nil && backend == "" {
		a.w.Warnings = append(a.w.Warnings, fmt.Sprintf("%s: 'channels' has no effect: an agent that is driven by its screen is in none; set drive = \"protocol\"", channels.origin))
	}
	a.derive(merged)
	a.paths(merged)

	doubt := a.approval(merged, preset, backend)

	out := Agent{doubt: doubt}
	decode(merged, &out, "an agent", a.report)
	out.Channel.Backend = backend
	if preset == "acp" && len(out.Channel.ACPCommand) > 0 {
		out.StartCommand = out.Channel.ACPCommand
	}
	for i, c := range out.Hints.CopyFiles {
		if c.Dst == "" {
			out.Hints.CopyFiles[i].Dst = filepath.Base(c.Src)
		}
	}
	if out.Pool != nil && out.Pool.Max == 0 {
		out.Pool.Max = max(out.Pool.Min, 1)
	}
	if !out.Sandbox.Enabled {
		merged.remove("state") // nothing reads it
	}
	out.settings = explain(merged, reflect.TypeFor[Agent](), "")
	out.doubted()
	return out
}

// layers returns the layers of an agent, the lowest first. said is what names it,
// or nil.
func (a *resolver) layers(n, said *node) []*node {
	own := &node{kind: tableNode, entries: []entry{{"runs_in", newScalar(a.w.Session.Provider, a.sessionOrigin())}}}
	for _, key := range agentWide {
		if value := a.tree.get(key); value != nil {
			own.set(key, value)
		}
	}
	layers := []*node{builtin.Get().get("defaults"), own}
	if said == nil {
		layers = append(layers, a.tree.get("defaults"))
	} else {
		built, mine := builtin.Get().get("presets").get(said.text), a.tree.get("presets").get(said.text)
		if built == nil && mine == nil {
			a.report.add(said.origin, "no preset '%s'%s (there are: %s)", said.text, didYouMean(said.text, a.presets()), strings.Join(a.presets(), ", "))
		}
		layers = append(layers, built, a.tree.get("defaults"), mine)
	}
	return append(layers, n)
}

func (a *resolver) sessionOrigin() Origin {
	if n := a.tree.get("session").get("provider"); n != nil {
		return n.origin
	}
	return Origin{}
}

// said returns the value that names the agent's preset: from its own keys, from those
// of the workspace, or claude for an agent in channels. It returns nil if a
// start_command says what runs.
func (a *resolver) said(n *node) *node {
	for _, key := range []string{"agent", "backend"} {
		if own := n.get(key); own != nil {
			return own
		}
	}
	if n.get("start_command") != nil {
		return nil
	}
	if wide := a.tree.get("workspace").get("provider"); wide != nil {
		return wide
	}
	if a.tree.get("workspace").get("start_command") != nil {
		return nil
	}
	if wide := a.tree.get("defaults").get("agent"); wide != nil {
		return wide
	}
	if n.get("channels") != nil {
		return newScalar("claude", Origin{Derived: "the agent's channels"}) // what a channel agent is when it says nothing
	}
	return nil
}

func (a *resolver) presets() []string {
	names := Presets()
	if own := a.tree.get("presets"); own != nil {
		for _, e := range own.entries {
			names = append(names, e.key)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// derive fills in what follows from other values.
func (a *resolver) derive(merged *node) {
	if merged.get("start_command") == nil && a.top.Workspace.StartCommand != "" {
		merged.set("start_command", a.tree.get("workspace").get("start_command"))
	}
	if merged.get("session_template") == nil && a.w.SessionTemplate != "" {
		merged.set("session_template", a.tree.get("workspace").get("session_template"))
	}
	name, dir := merged.get("name"), merged.get("dir")
	if dir == nil {
		merged.set("dir", newScalar(a.w.Dir, Origin{Derived: "the workspace's directory"}))
		return
	}
	if name != nil && filepath.IsLocal(dir.text) && filepath.Clean(dir.text) != "." {
		merged.set("name", newScalar(filepath.ToSlash(filepath.Clean(dir.text))+"/"+name.text, name.origin))
	}
}

// paths makes the paths of an agent absolute: its directory from the
// workspace's, files from the file that names them.
func (a *resolver) paths(merged *node) {
	anchor := func(n *node) *node { return anchored(n, a.w.Dir) }
	if dir := merged.get("dir"); dir.kind == scalarNode {
		merged.set("dir", newScalar(absolute(dir.text, a.w.Dir), dir.origin))
	}
	for _, key := range []string{"prompt_template", "session_setup_script", "overlay_dir"} {
		if n := merged.get(key); n != nil {
			merged.set(key, anchor(n))
		}
	}
	if env := merged.get("env"); env != nil {
		for _, e := range env.entries {
			if file := e.value.get("file"); file != nil {
				e.value.set("file", anchor(file))
			}
		}
	}
	if table := merged.get("sandbox"); table != nil {
		for _, key := range []string{"read", "write"} {
			if list := table.get(key); list != nil {
				for i, item := range list.items {
					list.items[i] = anchor(item)
				}
			}
		}
	}
	if files := merged.get("copy_files"); files != nil {
		for i, f := range files.items {
			if f.kind == tableNode && f.get("src") != nil {
				f.set("src", anchor(f.get("src")))
			} else {
				files.items[i] = anchor(f)
			}
		}
	}
}

// anchored makes a path absolute: from the directory of the file that names
// it, else from dir.
func anchored(n *node, dir string) *node {
	if n == nil || n.kind != scalarNode || n.text == "" {
		return n
	}
	if n.origin.File != "" {
		dir = filepath.Dir(n.origin.File)
	}
	return newScalar(absolute(n.text, dir), n.origin)
}
