package permission_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/agent/permission"
	"den/internal/place/decisive"
)

// generous are rules by which everything would be allowed that a rule can.
var generous = []permission.Rule{
	{Outcome: permission.Allow, Kind: permission.Edit},
	{Outcome: permission.Allow, Path: "**"},
	{Outcome: permission.Allow, Path: "/**"},
	{Outcome: permission.Allow, Tool: "mcp__*"},
	allowCommand("tee *"), allowCommand("cp *"), allowCommand("mv *"), allowCommand("sed *"), allowCommand("ln *"), allowCommand("rm *"),
	allowCommand("cat *"), allowCommand("dd *"),
}

// ground is a workspace on disk, with an agent in its directory.
type ground struct {
	root, dir string
	own       []decisive.File
	policy    *permission.Policy
	links     int
}

func newGround(t testing.TB, dir string, rules ...permission.Rule) *ground {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{root: root, dir: filepath.Join(root, dir)}
	for _, file := range []string{"team/more.toml", "prompts/role.md", "setup", "overlay/x/y", "elsewhere/conf.yaml"} {
		g.write(t, filepath.Join(root, file))
	}
	for _, name := range []string{"team/more.toml", "prompts/role.md", "setup", "overlay", "elsewhere/conf.yaml", "not/there/yet"} {
		g.own = append(g.own, decisive.File{Path: filepath.Join(root, name), Role: "a file"})
	}
	if err := os.MkdirAll(filepath.Join(g.dir, "sub/deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.policy, err = permission.NewPolicy(permission.Settings{
		Dir: g.dir, Home: filepath.Join(root, "home"), Rules: rules,
		Workspace: func() ([]decisive.File, error) { return g.own, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *ground) write(t testing.TB, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// spellings are names for a file, as an agent may write them.
func (g *ground) spellings(t testing.TB, file string) []string {
	t.Helper()
	rel, err := filepath.Rel(g.dir, file)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{
		file, rel, "./" + rel, "sub/../" + rel, "sub/deep/../../" + rel, strings.ToUpper(rel), file + "/", strings.ReplaceAll(file, "/", "//"),
		filepath.Dir(file) + "/./" + filepath.Base(file), filepath.Dir(file) + "/\u200b" + filepath.Base(file),
	}
	g.links++
	link := filepath.Join(g.dir, fmt.Sprintf("link%d", g.links))
	for name, to := range map[string]string{link: file, link + "d": filepath.Dir(file)} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	all = append(all, link, link+"d/"+filepath.Base(file))
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		hard := link + "h"
		if err := os.Link(file, hard); err != nil {
			t.Fatal(err)
		}
		all = append(all, hard)
	}
	return all
}

// changing are the requests by which an agent may change a file.
func changing(dir, file string) []permission.Request {
	quoted := "'" + file + "'"
	input, err := json.Marshal(map[string]any{"edits": []any{map[string]any{"file": file, "text": "x"}}})
	if err != nil {
		panic(err)
	}
	all := []permission.Request{
		edit(file), edit("src/a.go", file), {Tool: "new", Kind: "unheard-of", Paths: []string{file}},
		{Tool: "mcp__files__write", Kind: permission.Other, Input: input},
	}
	for _, line := range []string{
		"echo x > %s", "echo x >> %s", "echo x >| %s", "echo x | tee %s", "cp a %s", "mv a %s", "sed -i s/a/b/ %s", "ln -f a %s", "rm %s", "dd if=a of=%s",
		"sh -c \"cp a %s\"", "timeout 5 cp a %s", "true && cat a >%s", "cd sub; tee %s", "cat <<E >%s\nx\nE",
	} {
		all = append(all, run(fmt.Sprintf(line, quoted)))
	}
	if !filepath.IsAbs(file) {
		for _, r := range all[4:] {
			r.Dir, r.Command = dir+"/sub", strings.ReplaceAll(r.Command, quoted, "'../"+file+"'")
			all = append(all, r)
		}
	}
	return all
}

// No rule that does not name it lets an agent change a file that decides what
// runs or what is allowed, however it is written, from wherever; and reading it
// is not asked for.
func TestDecisiveFilesAreAskedFor(t *testing.T) {
	for n, at := range []string{".", "work", "work/tree"} {
		g := newGround(t, at, generous...)
		var files []string
		for _, own := range g.own {
			files = append(files, own.Path)
		}
		files = append(files, g.root+"/overlay/x/y", g.root+"/overlay/new")
		for _, group := range decisive.Groups {
			for k, name := range group.Names {
				name = strings.ReplaceAll(name, "*", "a")
				places := []string{g.dir + "/" + name, g.dir + "/sub/deep/" + name, g.root + "/home/" + name, g.dir + "/" + name + "/below"}
				files = append(files, places[(n+k)%4], places[(n+k+1)%4]) // all of them in some directory
			}
		}
		for i, file := range files {
			spellings := g.spellings(t, file)
			if i > 3 { // every way for some files, and some ways for every file
				spellings = []string{spellings[i%len(spellings)], spellings[i/7%len(spellings)]}
			}
			for j, spelled := range spellings {
				for k, r := range changing(g.dir, spelled) {
					if i > 3 && (i/3+j+k)%23 != 0 {
						continue
					}
					if outcome, why := g.policy.Decide(r); outcome == permission.Allow {
						t.Errorf("in %s: %s %q %q in %q: allowed: %s", at, r.Tool, r.Command, r.Paths, r.Dir, why)
					}
				}
			}
			if outcome, why := g.policy.Decide(read(file)); outcome != permission.Allow {
				t.Errorf("read %s: %s: %s", file, outcome, why)
			}
			if t.Failed() {
				return // one file is enough to see why
			}
		}
	}
}

// What only looks alike is the agent's ordinary work.
func TestOrdinaryFilesAreNotAskedFor(t *testing.T) {
	g := newGround(t, ".", generous...)
	for _, file := range []string{
		"src/main.go", "Makefile", "package.json", ".npmrc", ".editorconfig", ".gitignore", "AGENTS.md", "CLAUDE.md", ".cursorrules", ".github/ISSUE_TEMPLATE.md",
		"header", "src/hooks/use.ts", "config", "docs/den.toml.md", "agents/agents.go", "prompts/other.md", "setup.go", "team/readme", "go.mod", ".env", "tasks.json",
	} {
		for _, r := range []permission.Request{edit(file), run("cp a " + file), run("echo x >" + file), run("sed -i s/a/b/ " + file)} {
			if outcome, why := g.policy.Decide(r); outcome != permission.Allow {
				t.Errorf("%+v: %s: %s", r, outcome, why)
			}
		}
	}
	for _, line := range []string{"cat team/more.toml", "grep -n x den.toml .git/config", "cat .envrc | wc -l"} {
		if outcome, why := g.policy.Decide(run(line)); outcome != permission.Allow {
			t.Errorf("%s: %s: %s", line, outcome, why)
		}
	}
}

// A rule that has the name of the file allows it, unless the workspace reads it.
func TestRulesThatNameDecisiveFiles(t *testing.T) {
	allowPath := func(path string) permission.Rule {
		return permission.Rule{Outcome: permission.Allow, Kind: permission.Edit, Path: path}
	}
	for _, row := range []struct {
		rule    permission.Rule
		request permission.Request
		want    permission.Outcome
	}{
		{allowPath(".github/workflows/**"), edit(".github/workflows/ci.yml"), permission.Allow},
		{allowPath(".github/**"), edit(".github/workflows/ci.yml"), permission.Ask},
		{allowPath(".*/**"), edit(".claude/settings.json"), permission.Ask},
		{allowPath("**/.envrc"), edit("sub/.envrc"), permission.Allow},
		{allowPath("**/.env*"), edit("sub/.envrc"), permission.Ask},
		{allowPath(".claude/**"), edit(".claude/.git/config"), permission.Ask},
		{allowPath("team/more.toml"), edit("team/more.toml"), permission.Ask},
		{allowCommand("cp a .envrc"), run("cp a .envrc"), permission.Allow},
		{allowCommand("cp a *"), run("cp a .envrc"), permission.Ask},
		{allowCommand("cp *"), run("cp sub/agents.yaml ."), permission.Ask},
		{allowCommand("cp *"), run("cp -t . sub/more.toml"), permission.Allow},
		{allowCommand("cp *"), run("cp -t team sub/more.toml"), permission.Ask},
		{allowCommand("cp a team/more.toml"), run("cp a team/more.toml"), permission.Ask},
	} {
		g := newGround(t, ".", row.rule)
		if outcome, why := g.policy.Decide(row.request); outcome != row.want {
			t.Errorf("%s: %+v: %s (%s), want %s", row.rule, row.request, outcome, why, row.want)
		}
	}
}

// A decision for always about a file of the workspace holds once.
func TestDecisionsAboutTheWorkspaceAreNotRemembered(t *testing.T) {
	g := newGround(t, ".", allowCommand("cp *"))
	for _, r := range []permission.Request{edit("team/more.toml"), run("cp a team/more.toml"), run("cp a setup; cat team/more.toml")} {
		if rules, err := g.policy.Remember(r, permission.Allow); err == nil {
			t.Errorf("%+v: %v", r, rules)
		}
	}
	if _, err := g.policy.Remember(edit(".envrc"), permission.Allow); err != nil {
		t.Errorf("a file that is known by its name: %v", err)
	}
}

// Where it is not known which files the workspace reads, every change is asked
// for.
func TestUnknownWorkspaceIsAskedFor(t *testing.T) {
	p, err := permission.NewPolicy(permission.Settings{
		Dir: t.TempDir(), Rules: generous, Workspace: func() ([]decisive.File, error) { return nil, errors.New("no list") },
	})
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[*permission.Request]permission.Outcome{ptr(edit("a")): permission.Ask, ptr(run("cp a b")): permission.Ask, ptr(read("a")): permission.Allow, ptr(run("ls")): permission.Allow} {
		if outcome, why := p.Decide(*r); outcome != want {
			t.Errorf("%+v: %s (%s), want %s", r, outcome, why, want)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// A repository that is not called '.git' runs code, too.
func TestEmbeddedRepositories(t *testing.T) {
	g := newGround(t, ".", generous...)
	g.write(t, g.dir+"/sub/bare/HEAD")
	for _, file := range []string{"sub/bare/config", "sub/bare/hooks/pre-commit", "sub/bare/info/attributes", "sub/other/HEAD"} {
		if outcome, why := g.policy.Decide(edit(file)); outcome != permission.Ask {
			t.Errorf("%s: %s (%s)", file, outcome, why)
		}
	}
}

// What an agent would not ask for is asked for, too.
func TestCheckKnowsDecisiveFiles(t *testing.T) {
	g := newGround(t, ".")
	b, err := permission.OpenBroker(permission.Options{Dir: t.TempDir(), Agent: "a", Settings: permission.Settings{
		Dir: g.dir, Workspace: func() ([]decisive.File, error) { return g.own, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[*permission.Request]permission.Outcome{
		ptr(edit("team/more.toml")): permission.Ask, ptr(edit(".vscode/tasks.json")): permission.Ask, ptr(run("cp a setup")): permission.Ask,
		ptr(edit("a")): "", ptr(run("make")): "", ptr(read("den.toml")): "",
	} {
		if outcome, why := b.Check(*r); outcome != want {
			t.Errorf("%+v: %s (%s), want %q", r, outcome, why, want)
		}
		if outcome, why := b.Judge(*r, false); outcome != want {
			t.Errorf("%+v on a screen: %s (%s), want %q", r, outcome, why, want)
		}
	}
}

// A command that may write a word that is not known before it runs may write a
// file that decides, unless the word cannot be one; and what it makes without
// naming it may be one, too.
func TestUnknownWordsMayDecide(t *testing.T) {
	ways := map[string][]permission.Rule{"rules": generous, "bypass": nil}
	for way, rules := range ways {
		g := newGround(t, ".", append([]permission.Rule{allowCommand("tar *"), allowCommand("unzip *"), allowCommand("rsync *"), allowCommand("patch *"), allowCommand("git *"), allowCommand("echo *")}, rules...)...)
		for _, file := range []string{"den.toml", "src/a.go", "src/b.go", "src/c.txt", ".git/config", ".github/workflows/ci.yml", "evil/x", "keep/state/rules.json"} {
			g.write(t, filepath.Join(g.dir, file))
		}
		settings := permission.Settings{Dir: g.dir, Home: filepath.Join(g.root, "home"), Bypass: way == "bypass", Protected: []string{g.root + "/keep/state"},
			Workspace: func() ([]decisive.File, error) { return g.own, nil }}
		if way != "bypass" {
			settings.Rules = append(settings.Rules, g.policy.Rules()...)
		}
		p, err := permission.NewPolicy(settings)
		if err != nil {
			t.Fatal(err)
		}
		for want, lines := range map[permission.Outcome][]string{
			permission.Ask: {
				"sed -i s/a/b/ den.tom?", "sed -i s/a/b/ d*", "sed -i s/a/b/ *", "sed -i s/a/b/ ./*", "sed -i s/a/b/ [d]en.toml", "sed -i s/a/b/ [!x]en.toml", "sed -i s/a/b/ [[:alpha:]]en.toml",
				"sed -i s/a/b/ {den,x}.toml", "sed -i s/a/b/ den.{toml,x}", "sed -i s/a/b/ .g*/config", "sed -i s/a/b/ **/*.toml", "sed -i s/a/b/ .github/*/ci.yml", "sed -i s/a/b/ prompts/*.md", "sed -i s/a/b/ */role.md",
				"sed -i s/a/b/ $PWD/den.toml", `sed -i s/a/b/ "$PWD/den.toml"`, "sed -i s/a/b/ ${PWD}/DEN.toml", "sed -i s/a/b/ $HOME/.bashrc", "sed -i s/a/b/ ~/.bashrc", "sed -i s/a/b/ ~+/den.toml", "sed -i s/a/b/ ~root/.profile", "sed -i s/a/b/ ~ana/*/.ssh/config",
				"sed -i s/a/b/ $PWD/prompts/role.md", "sed -i s/a/b/ $PWD/*/role.md", "sed -i s/a/b/ $PWD/.g?t/config", "sed -i s/a/b/ .git/$NAME.txt", "sed -i s/a/b/ $X.toml",
				"sed -i s/a/b/ $X", `sed -i s/a/b/ "$X"`, "sed -i s/a/b/ src/$X", "sed -i s/a/b/ $(echo den.toml)", `sed -i s/a/b/ "$(echo .git)/config"`, "sed -i s/a/b/ `cat list`", "sed -i -e s/a/b/ $X", "sed --in-place s/a/b/ $X",
				`X="den.toml b"; sed -i s/a/b/ $X/a.go`, `X=.git; sed -i s/a/b/ "$X/config"`, `for f in den.toml; do sed -i s/a/b/ "$f.go"; done`, `sh -c 'sed -i s/a/b/ "$1"' sh den.toml`, `true .git; sed -i s/a/b/ "$_/config"`, `cd "$X" && sed -i s/a/b/ *.toml`,
				"echo den.toml | xargs sed -i s/a/b/", "find . -name den.toml -exec sed -i s/a/b/ {} +",
				"echo x > den.tom*", `echo x > "$F"`, "echo x > $PWD/den.toml", `echo x >> "$(echo den.toml)"`, "echo x > ~+/den.toml", "echo x >| $F",
				"tee $F", "cp evil/x $F", `cp evil/x "$F"`, "mv evil/x $F", "ln -sf evil/x $F", "dd if=evil/x of=$F", "cp evil/* d*", "rm d*", "rm -rf $PWD/.git", "timeout 5 tee $F",
				"cp -r evil/. .", "cp -a evil/. .", "cp -rT evil .", "cp -R . ../other", "rsync -a evil/ .", "rsync -a evil/ ./", "tar xf a.tar", "tar -xf a.tar -C src", "tar --extract -f a.tar", "unzip a.zip", "unzip -o a.zip -d .", "patch -p1 < a.patch", "git apply a.patch", "git am a.patch",
				// Open files by the names of their descriptors, and names in a directory that is not known.
				"echo x < den.toml > /dev/stdin", "tee /dev/stdin < den.toml", "dd of=/dev/stdin <den.toml", "truncate -s0 /dev/stdin <den.toml", "echo x 3<den.toml >/dev/fd/3", "echo x 3<den.toml >>/proc/self/fd/3", "sh -c 'echo x > /dev/stdin' < den.toml",
				"cd ..; cd .; tee rules.json", "cd -P .git && tee config", "cd -- .git && tee config", "cd .git && cd hooks && tee pre-commit", "x=.git; cd $x; tee config", "cd .gi*; cp ../a.txt config", "for d in .git; do cd $d; tee config; done", "cd -P .git && echo x > config", "cd ..; cd keep && echo x > state/rules.json",
				"cat <1-9>|tee den.toml", "echo x | tee <-> den.toml",
				"cp -r evil/.github .", "mv evil/.github .", "mv evil .config", "mv prompts old", "rm -rf prompts", "rm -rf .", "ln -s evil .forgejo",
				"sed -irc s/a/b/ .env", "sed -n -i.toml p den", "sed --in-place=rc p .env", "perl -pirc -e 1 .env", "gunzip .envrc.gz", "gunzip -f ./.envrc.gz", "gzip -d den.toml.gz", "xz -d den.toml.xz", "unxz -k prompts/role.md.xz", "bunzip2 .git/config.bz2", "zstd -d team/more.toml.zst", "unzstd .envrc.zst", "gpg .envrc.gpg", "gpg -d .envrc.asc", "gunzip $X", "gunzip $X.toml.gz",
				"gunzip -N a.gz", "gunzip -r evil", "gunzip -S c .envrcc", "zstd -dr evil", "gpg --use-embedded-filename a.gpg", "uudecode a.uu", "ar x a.a", "ar -x a.a", "ar xv a.a", "python3 -m zipfile -e a.zip .", "python3 -m tarfile -e a.tar", "/usr/bin/python3.12 -I -m zipfile --extract a.zip .", "python3 -mzipfile -e a.zip .", "timeout 5 gunzip .envrc.gz",
			},
			permission.Allow: {
				"sed -i s/a/b/ src/*.go", "sed -i s/a/b/ src/?.txt", "sed -i s/a/b/ src/*", "sed -i s/a/b/ src/{a,b}.go", "sed -i s/a/b/ $PWD/src/a.go", `sed -i s/a/b/ "$PWD/src/a.go"`, "sed -i s/a/b/ $X.go", "sed -i s/a/b/ **/*.go", "sed -i s/a/b/ */a.go", "sed -i s/a/b/ *.[ch]",
				`sed -i "s/$A/$B/" src/a.go`, `sed -i -e "s/$A/$B/" src/a.go`, "sed -n $X p", "rm src/*", "rm -rf src", "cat *", "cat $X", "echo $X *", "ls 2>&1 | tee /dev/stderr", "echo x > /dev/stderr", "cp src/*.go evil/", "cp evil/x src", "cp -r evil src", "mv src/a.go .", "cp -t . src/a.go",
				"cp $PWD/src/a.go evil", "tee src/$X.go", "tar tf a.tar", "tar cf a.tar src", "unzip -l a.zip", "patch --dry-run -p1", "sed -i.bak s/a/b/ src/a.go", "gunzip a.txt.gz", "gzip src/a.go", "gzip -9 src/a.go", "xz -d src/a.go.xz", "gunzip src/*.gz", "zcat .envrc.gz", "uudecode -o src/a.go a.uu", "ar rcs a.a b.o", "ar t a.a", "python3 -m zipfile -l a.zip", "python3 -m json.tool a.json", "tar xf a.tar -C /tmp/other", "rsync -a src/ host:src/",
			},
			permission.Deny: {"sed -i s/a/b/ keep/state/*", "sed -i s/a/b/ k*p/st?te/rules.json", "sed -i s/a/b/ $PWD/keep/state/rules.json", "cp evil/x ${PWD}/keep/state/rules.json", "rm k*/st*/*"},
		} {
			for _, line := range lines {
				outcome, why := p.Decide(run(line))
				if way == "rules" && want == permission.Allow && outcome == permission.Ask && !strings.Contains(why, "decides what runs") {
					continue // no rule covers it
				}
				if outcome != want {
					t.Errorf("%s: %q: %s (%s), want %s", way, line, outcome, why, want)
				}
			}
		}
	}
}
