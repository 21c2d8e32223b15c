package permission_test

import (
	"errors"
	"strings"
	"testing"

	"den/internal/agent/permission"
	"den/internal/base/fault"
)

const dir = "/home/ana/project"

// links are the symbolic links of the tests' file system.
var links = map[string]string{
	dir + "/out":        "/etc",
	dir + "/in":         "src",
	dir + "/sub/secret": "/etc/shadow",
	dir + "/loop":       "loop",
	"/tmp/here":         dir,
}

func readlink(path string) (string, error) {
	if to, ok := links[path]; ok {
		return to, nil
	}
	return "", errors.New("not a link")
}

// exists knows one file: the agent's directory is a repository.
func exists(path string) bool { return path == dir+"/.git" }

func newPolicy(t testing.TB, rules ...permission.Rule) *permission.Policy {
	t.Helper()
	p, err := permission.NewPolicy(permission.Settings{
		Dir: dir, Home: "/home/ana", Rules: rules, Readlink: readlink, Exists: exists, Protected: []string{dir + "/.den/agents/x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(line string) permission.Request {
	return permission.Request{Tool: "Bash", Kind: permission.Execute, Command: line}
}

func runIn(in, line string) permission.Request {
	r := run(line)
	r.Dir = in
	return r
}

func read(paths ...string) permission.Request {
	return permission.Request{Tool: "Read", Kind: permission.Read, Paths: paths}
}

func edit(paths ...string) permission.Request {
	return permission.Request{Tool: "Edit", Kind: permission.Edit, Paths: paths}
}

func fetch(address string) permission.Request {
	return permission.Request{Tool: "WebFetch", Kind: permission.Fetch, URL: address}
}

func allowCommand(pattern string) permission.Rule {
	return permission.Rule{Outcome: permission.Allow, Command: pattern}
}

func denyCommand(pattern string) permission.Rule {
	return permission.Rule{Outcome: permission.Deny, Command: pattern}
}

type row struct {
	name    string
	rules   []permission.Rule
	request permission.Request
	want    permission.Outcome
}

var defaults = []row{
	{name: "read inside", request: read("src/a.go"), want: permission.Allow},
	{name: "read inside, absolute", request: read(dir + "/src/a.go"), want: permission.Allow},
	{name: "read the directory itself", request: read("."), want: permission.Allow},
	{name: "read by another name of the directory", request: read("/tmp/here/a"), want: permission.Allow},
	{name: "read outside", request: read("/etc/passwd"), want: permission.Ask},
	{name: "read above", request: read("../other/a"), want: permission.Ask},
	{name: "read a directory whose name begins alike", request: read(dir + "-other/a"), want: permission.Ask},
	{name: "read through a link that leads out", request: read("out/passwd"), want: permission.Ask},
	{name: "read through a link that stays inside", request: read("in/a.go"), want: permission.Allow},
	{name: "read above a link that leads out", request: read("out/../a.go"), want: permission.Ask},
	{name: "read a loop of links", request: read("loop"), want: permission.Ask},
	{name: "read at home", request: read("~/.ssh/id_ed25519"), want: permission.Ask},
	{name: "read inside, by home", request: read("~/project/a"), want: permission.Allow},
	{name: "read somebody's home", request: read("~bob/a"), want: permission.Ask},
	{name: "read one inside and one outside", request: read("a", "/etc/passwd"), want: permission.Ask},
	{name: "read what is not said", request: read(), want: permission.Ask},
	{name: "read an empty name", request: read(""), want: permission.Ask},
	{name: "read a name with NUL", request: read("a\x00b"), want: permission.Ask},
	{name: "edit inside", request: edit("src/a.go"), want: permission.Allow},
	{name: "edit outside", request: edit("/etc/hosts"), want: permission.Ask},
	{name: "edit through a link that leads out", request: edit("out/hosts"), want: permission.Ask},
	{name: "edit git's hooks", request: edit(".git/hooks/pre-commit"), want: permission.Ask},
	{name: "edit git's hooks in other letters", request: edit("sub/.GIT/config"), want: permission.Ask},
	{name: "edit the workspace's file", request: edit("den.toml"), want: permission.Ask},
	{name: "edit den's own state", request: edit(".den/agents/x/rules.json"), want: permission.Deny},
	{name: "redirect to den's own state", request: run("echo x > .den/agents/x/rules.json"), want: permission.Deny},
	{name: "decide its own request", rules: []permission.Rule{allowCommand("den *")}, request: run("den -f x.toml approvals approve ab2cd"), want: permission.Deny},
	{name: "make itself an owner's account", rules: []permission.Rule{allowCommand("den *")}, request: run("den accounts set boss --password-file p"), want: permission.Deny},
	{name: "decide its own request, wrapped", request: run("sh -c '/usr/bin/den approve ab2cd'"), want: permission.Deny},
	{name: "another verb of den", rules: []permission.Rule{allowCommand("den *")}, request: run("den type work approve"), want: permission.Allow},
	{name: "think", request: permission.Request{Tool: "TodoWrite", Kind: permission.Think}, want: permission.Allow},
	{name: "think with a command", request: permission.Request{Tool: "Plan", Kind: permission.Think, Command: "rm x"}, want: permission.Ask},
	{name: "fetch", request: fetch("https://example.com/"), want: permission.Ask},
	{name: "other", request: permission.Request{Tool: "mcp__x", Kind: permission.Other}, want: permission.Ask},
	{name: "unknown kind", request: permission.Request{Tool: "x", Kind: "new"}, want: permission.Ask},
	{name: "nothing", request: permission.Request{}, want: permission.Ask},

	{name: "harmless command", request: run("git status"), want: permission.Allow},
	{name: "harmless pipeline", request: run("cat a.go | grep -n func | wc -l"), want: permission.Allow},
	{name: "harmless in a substitution", request: run("echo $(git rev-parse --short HEAD)"), want: permission.Allow},
	{name: "harmless, wrapped", request: run("timeout 5 env ls -la src"), want: permission.Allow},
	{name: "harmless in a shell", request: run("bash -lc 'ls; pwd'"), want: permission.Allow},
	{name: "redirection inside", request: run("ls > list.txt 2>&1"), want: permission.Allow},
	{name: "redirection to nothing", request: run("ls 2>/dev/null"), want: permission.Allow},
	{name: "redirection outside", request: run("ls > /etc/x"), want: permission.Ask},
	{name: "redirection to the network", request: run("echo x > /dev/tcp/example.com/80"), want: permission.Ask},
	{name: "redirection to git's hooks", request: run("echo x > .git/hooks/pre-commit"), want: permission.Ask},
	{name: "redirection to a variable", request: run("ls > $x"), want: permission.Ask},
	{name: "read outside by command", request: run("cat /etc/passwd"), want: permission.Ask},
	{name: "read through a link by command", request: run("cat out/passwd"), want: permission.Ask},
	{name: "read a glob by command", request: run("cat *"), want: permission.Ask},
	{name: "option that is not known", request: run("grep -R x ."), want: permission.Ask},
	{name: "option with a path", request: run("git diff --output=/etc/x"), want: permission.Ask},
	{name: "command that changes things", request: run("rm a"), want: permission.Ask},
	{name: "harmless and not", request: run("git status && rm -rf /"), want: permission.Ask},
	{name: "not harmless in a substitution", request: run("echo $(rm a)"), want: permission.Ask},
	{name: "own program of a harmless name", request: run("./ls"), want: permission.Ask},
	{name: "with a variable", request: run("LD_PRELOAD=./x.so ls"), want: permission.Ask},
	{name: "variable for later", request: run("PATH=.; ls"), want: permission.Ask},
	{name: "git with another command", request: run("git branch new"), want: permission.Ask},
	{name: "git in a directory that may hold a repository", request: run("cd sub && git status"), want: permission.Ask},
	{name: "git in the agent's own directory, by name", request: run("cd " + dir + " && git status"), want: permission.Allow},
	{name: "git in another directory", request: permission.Request{Kind: permission.Execute, Command: "git status", Dir: dir + "/sub"}, want: permission.Ask},
	{name: "copy to den's own state", rules: []permission.Rule{allowCommand("cp *")}, request: run("cp x .den/agents/x/rules.json"), want: permission.Deny},
	{name: "change of directory, where the agent tells where it is", request: runIn(dir, "cd src && ls"), want: permission.Allow},
	{name: "change of directory, where it does not", request: run("cd src && ls"), want: permission.Ask},
	{name: "change of directory that ends with the line", request: run("(cd src && ls)"), want: permission.Allow},
	{name: "change of directory in a substitution", request: run(`echo "$(cd src; ls)"`), want: permission.Allow},
	{name: "change of directory in another shell", request: run("sh -c 'cd src; ls'"), want: permission.Allow},
	{name: "change of directory by eval", request: run("eval 'cd src'"), want: permission.Ask},
	{name: "change of directory by eval in parentheses", request: run("(eval 'cd src')"), want: permission.Allow},
	{name: "change of directory behind a here-document", request: run("cat <<E; cd src\n$(pwd)\nE"), want: permission.Ask},
	{name: "change of directory to where it is", request: run("cd . && ls"), want: permission.Allow},
	{name: "change of directory that a rule allows, where the agent does not tell where it is", rules: []permission.Rule{allowCommand("cd *")}, request: run("cd src"), want: permission.Ask},
	{name: "change of directory, then out", request: run("cd src && cat ../../x"), want: permission.Ask},
	{name: "change of directory, then a link there", request: run("cd sub && cat secret"), want: permission.Ask},
	{name: "change of directory, then a redirection", request: run("cd sub && ls > secret"), want: permission.Ask},
	{name: "change of directory outside", request: run("cd /etc && ls"), want: permission.Ask},
	{name: "change of directory back", request: run("cd - && ls"), want: permission.Ask},
	{name: "change of directory twice", request: run("cd src; cd ../sub; ls"), want: permission.Ask},
	{name: "set the date", request: run("date 0102"), want: permission.Ask},
	{name: "read the date", request: run("date +%s"), want: permission.Allow},
	{name: "in a directory outside", request: permission.Request{Kind: permission.Execute, Command: "ls", Dir: "/etc"}, want: permission.Ask},
	{name: "in a directory inside", request: permission.Request{Kind: permission.Execute, Command: "cat ../a", Dir: dir + "/src"}, want: permission.Allow},
	{name: "command that is not said", request: run(""), want: permission.Ask},
}

// runOn is a command with a file that the agent's program found in it.
func runOn(line, path string) permission.Request {
	r := run(line)
	r.Paths = []string{path}
	return r
}

var rules = []row{
	{name: "an allowed command that changes a file", rules: []permission.Rule{allowCommand("touch /srv/made")}, request: runOn("touch /srv/made", "/srv/made"), want: permission.Allow},
	{name: "a command that changes a denied file", rules: []permission.Rule{allowCommand("touch *"), {Outcome: permission.Deny, Path: "made"}}, request: runOn("touch x", dir+"/made"), want: permission.Deny},
	{name: "a command that changes a file that decides", rules: []permission.Rule{allowCommand("touch *")}, request: runOn("touch x", dir+"/.envrc"), want: permission.Ask},
	{name: "a command that no rule allows and a file inside", request: runOn("touch made", dir+"/made"), want: permission.Ask},
	{name: "allowed command", rules: []permission.Rule{allowCommand("go test *")}, request: run("go test ./..."), want: permission.Allow},
	{name: "allowed command without arguments", rules: []permission.Rule{allowCommand("go test *")}, request: run("go test"), want: permission.Allow},
	{name: "another command of that program", rules: []permission.Rule{allowCommand("go test *")}, request: run("go run x"), want: permission.Ask},
	{name: "allowed command with a variable argument", rules: []permission.Rule{allowCommand("go test *")}, request: run("go test $x"), want: permission.Allow},
	{name: "exact command with a variable argument", rules: []permission.Rule{allowCommand("go test ./a")}, request: run("go test $x"), want: permission.Ask},
	{name: "exact command with more", rules: []permission.Rule{allowCommand("make lint")}, request: run("make lint deploy"), want: permission.Ask},
	{name: "star within a word", rules: []permission.Rule{allowCommand("go test ./internal/*")}, request: run("go test ./internal/a"), want: permission.Allow},
	{name: "star in the middle is one word", rules: []permission.Rule{allowCommand("go * ./a")}, request: run("go vet -x ./a"), want: permission.Ask},
	{name: "allowed and not allowed", rules: []permission.Rule{allowCommand("git push")}, request: run("git push && rm -rf /"), want: permission.Ask},
	{name: "allowed and not, behind a newline", rules: []permission.Rule{allowCommand("git push")}, request: run("git push\nrm -rf /"), want: permission.Ask},
	{name: "allowed with a substitution that is not", rules: []permission.Rule{allowCommand("git push *")}, request: run("git push $(rm x)"), want: permission.Ask},
	{name: "allowed with a redirection outside", rules: []permission.Rule{allowCommand("go test *")}, request: run("go test > /etc/x"), want: permission.Ask},
	{name: "all of a pipeline allowed", rules: []permission.Rule{allowCommand("go test *"), allowCommand("tee out.txt")}, request: run("go test ./... | tee out.txt"), want: permission.Allow},
	{name: "allowed with a variable before", rules: []permission.Rule{allowCommand("go test *")}, request: run("GOFLAGS=-toolexec=x go test"), want: permission.Ask},
	{name: "variable in the pattern", rules: []permission.Rule{allowCommand("CI=1 go test *")}, request: run("CI=1 go test"), want: permission.Allow},
	{name: "allowed, wrapped", rules: []permission.Rule{allowCommand("go test *")}, request: run("nice timeout 60 go test"), want: permission.Allow},
	{name: "allowed, wrapped with a variable", rules: []permission.Rule{allowCommand("go test *")}, request: run("env PATH=. go test"), want: permission.Ask},
	{name: "allowed through xargs", rules: []permission.Rule{allowCommand("gofmt *")}, request: run("git ls-files | xargs gofmt -l"), want: permission.Allow},
	{name: "exact command through xargs", rules: []permission.Rule{allowCommand("gofmt -l")}, request: run("git ls-files | xargs gofmt -l"), want: permission.Ask},
	{name: "allowed in a shell", rules: []permission.Rule{allowCommand("go test *")}, request: run("sh -c 'go test'"), want: permission.Allow},
	{name: "allowed by sudo", rules: []permission.Rule{allowCommand("rm *")}, request: run("sudo rm x"), want: permission.Ask},
	{name: "sudo in the pattern", rules: []permission.Rule{allowCommand("sudo systemctl restart x")}, request: run("sudo systemctl restart x"), want: permission.Allow},
	{name: "find alone", rules: []permission.Rule{allowCommand("find *")}, request: run("find . -name x"), want: permission.Allow},
	{name: "find with a command", rules: []permission.Rule{allowCommand("find *")}, request: run("find . -exec rm {} +"), want: permission.Ask},
	{name: "find with an allowed command", rules: []permission.Rule{allowCommand("find *"), allowCommand("rm *")}, request: run("find . -exec rm {} +"), want: permission.Allow},
	{name: "allowed with a function", rules: []permission.Rule{allowCommand("git *")}, request: run("git() { rm x; }; git push"), want: permission.Ask},
	{name: "allowed by another path", rules: []permission.Rule{allowCommand("git push")}, request: run("./git push"), want: permission.Ask},
	{name: "allowed in other letters", rules: []permission.Rule{allowCommand("git push")}, request: run("GIT push"), want: permission.Ask},
	{name: "allowed elsewhere", rules: []permission.Rule{allowCommand("go test *")}, request: permission.Request{Kind: permission.Execute, Command: "go test", Dir: "/other"}, want: permission.Ask},
	{name: "quoted pattern", rules: []permission.Rule{allowCommand(`git commit -m 'a  *'`)}, request: run(`git commit -m "a  *"`), want: permission.Allow},

	{name: "denied command", rules: []permission.Rule{denyCommand("rm *")}, request: run("rm a"), want: permission.Deny},
	{name: "denied by another path", rules: []permission.Rule{denyCommand("rm *")}, request: run("/bin/rm a"), want: permission.Deny},
	{name: "denied in quotes", rules: []permission.Rule{denyCommand("rm *")}, request: run(`r''m a`), want: permission.Deny},
	{name: "denied in other letters", rules: []permission.Rule{denyCommand("rm *")}, request: run("RM a"), want: permission.Deny},
	{name: "denied with a variable", rules: []permission.Rule{denyCommand("rm *")}, request: run("A=1 rm a"), want: permission.Deny},
	{name: "denied by sudo", rules: []permission.Rule{denyCommand("rm *"), allowCommand("sudo rm x")}, request: run("sudo rm x"), want: permission.Deny},
	{name: "denied through xargs", rules: []permission.Rule{denyCommand("rm *")}, request: run("ls | xargs -0 rm"), want: permission.Deny},
	{name: "denied in a shell", rules: []permission.Rule{denyCommand("rm *")}, request: run("sh -c 'ls; rm x'"), want: permission.Deny},
	{name: "denied by find", rules: []permission.Rule{denyCommand("rm *")}, request: run("find . -exec rm {} +"), want: permission.Deny},
	{name: "wrapper itself denied", rules: []permission.Rule{denyCommand("xargs *")}, request: run("ls | xargs ls"), want: permission.Deny},
	{name: "perhaps denied", rules: []permission.Rule{denyCommand("git push *"), allowCommand("git *")}, request: run("git $x"), want: permission.Ask},
	{name: "deny wins over allow", rules: []permission.Rule{allowCommand("git *"), denyCommand("git push *")}, request: run("git push"), want: permission.Deny},
	{name: "ask wins over allow", rules: []permission.Rule{allowCommand("git *"), {Outcome: permission.Ask, Command: "git push *"}}, request: run("git push"), want: permission.Ask},
	{name: "deny wins over ask", rules: []permission.Rule{denyCommand("git push *"), {Outcome: permission.Ask, Command: "git *"}}, request: run("git push"), want: permission.Deny},
	{name: "a rule asks for what is harmless", rules: []permission.Rule{{Outcome: permission.Ask, Kind: permission.Execute}}, request: run("ls"), want: permission.Ask},
	{name: "deny everything", rules: []permission.Rule{{Outcome: permission.Deny}}, request: permission.Request{Kind: permission.Think}, want: permission.Deny},

	{name: "denied file", rules: []permission.Rule{{Outcome: permission.Deny, Path: "**/.env"}}, request: read("sub/.env"), want: permission.Deny},
	{name: "denied file in other letters", rules: []permission.Rule{{Outcome: permission.Deny, Path: "**/.env"}}, request: read("sub/.ENV"), want: permission.Deny},
	{name: "denied file by a roundabout way", rules: []permission.Rule{{Outcome: permission.Deny, Path: ".env"}}, request: read("src/../.env"), want: permission.Deny},
	{name: "denied file by cat", rules: []permission.Rule{{Outcome: permission.Deny, Path: ".env"}}, request: run("cat .env"), want: permission.Deny},
	{name: "denied file by an option", rules: []permission.Rule{{Outcome: permission.Deny, Path: ".env"}, allowCommand("x *")}, request: run("x --file=./.env"), want: permission.Deny},
	{name: "denied file by redirection", rules: []permission.Rule{{Outcome: permission.Deny, Path: ".env"}, allowCommand("x")}, request: run("x < .env"), want: permission.Deny},
	{name: "file that must not be edited, by command", rules: []permission.Rule{{Outcome: permission.Deny, Kind: permission.Edit, Path: "go.mod"}, allowCommand("sed *")}, request: run("sed -n 1p go.mod"), want: permission.Ask},
	{name: "file that must not be edited, read", rules: []permission.Rule{{Outcome: permission.Deny, Kind: permission.Edit, Path: "go.mod"}}, request: read("go.mod"), want: permission.Allow},
	{name: "denied directory", rules: []permission.Rule{{Outcome: permission.Deny, Path: "secrets"}}, request: read("secrets/deep/a"), want: permission.Deny},
	{name: "denied where a link leads", rules: []permission.Rule{{Outcome: permission.Deny, Path: "/etc/**"}}, request: read("out/passwd"), want: permission.Deny},
	{name: "denied through a link's name", rules: []permission.Rule{{Outcome: permission.Deny, Path: "in/**"}}, request: read("in/a"), want: permission.Deny},
	{name: "perhaps a denied file", rules: []permission.Rule{{Outcome: permission.Deny, Path: ".env"}, allowCommand("x *")}, request: run("x $y"), want: permission.Ask},

	{name: "allowed path outside", rules: []permission.Rule{{Outcome: permission.Allow, Kind: permission.Read, Path: "/usr/**"}}, request: read("/usr/include/a.h"), want: permission.Allow},
	{name: "allowed to read only", rules: []permission.Rule{{Outcome: permission.Allow, Kind: permission.Read, Path: "/usr/**"}}, request: edit("/usr/a"), want: permission.Ask},
	{name: "allowed path by the way of ..", rules: []permission.Rule{{Outcome: permission.Allow, Path: "/usr/**"}}, request: read("/usr/../etc/passwd"), want: permission.Ask},
	{name: "allowed path at home", rules: []permission.Rule{{Outcome: permission.Allow, Path: "~/.cache/**"}}, request: edit("~/.cache/a"), want: permission.Allow},
	{name: "allowed path for a redirection", rules: []permission.Rule{{Outcome: permission.Allow, Path: "/tmp/x/*.log"}}, request: run("ls > /tmp/x/a.log"), want: permission.Allow},
	{name: "star is one name", rules: []permission.Rule{{Outcome: permission.Allow, Path: "/tmp/*"}}, request: edit("/tmp/a/b"), want: permission.Ask},
	{name: "allowed tool, outside", rules: []permission.Rule{{Outcome: permission.Allow, Tool: "Read"}}, request: read("/etc/passwd"), want: permission.Ask},
	{name: "allowed git's files", rules: []permission.Rule{{Outcome: permission.Allow, Kind: permission.Edit, Path: ".git/info/exclude"}}, request: edit(".git/info/exclude"), want: permission.Allow},
	{name: "protected whatever is allowed", rules: []permission.Rule{{Outcome: permission.Allow, Path: "/**"}}, request: edit(".den/agents/X/rules.json"), want: permission.Deny},

	{name: "allowed tool", rules: []permission.Rule{{Outcome: permission.Allow, Tool: "mcp__docs__*"}}, request: permission.Request{Tool: "MCP__docs__find", Kind: permission.Other}, want: permission.Allow},
	{name: "allowed tool that runs a command", rules: []permission.Rule{{Outcome: permission.Allow, Tool: "my_tool"}}, request: permission.Request{Tool: "my_tool", Kind: permission.Other, Command: "rm x"}, want: permission.Ask},
	{name: "denied tool", rules: []permission.Rule{{Outcome: permission.Deny, Tool: "web*"}}, request: fetch("https://example.com"), want: permission.Deny},
	{name: "allowed host", rules: []permission.Rule{{Outcome: permission.Allow, Host: "*.example.com"}}, request: fetch("https://docs.EXAMPLE.com/a"), want: permission.Allow},
	{name: "host that ends alike", rules: []permission.Rule{{Outcome: permission.Allow, Host: "example.com"}}, request: fetch("https://example.com@evil.test/"), want: permission.Ask},
	{name: "denied host, address not known", rules: []permission.Rule{{Outcome: permission.Allow, Kind: permission.Fetch}, {Outcome: permission.Deny, Host: "evil.test"}}, request: fetch(""), want: permission.Ask},
	{name: "allowed network", rules: []permission.Rule{{Outcome: permission.Allow, Kind: permission.Fetch}}, request: fetch("https://a.test"), want: permission.Allow},
}

func TestDecisionTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range append(defaults, rules...) {
		if seen[r.name] {
			t.Errorf("two rows are named %q", r.name)
		}
		seen[r.name] = true
		outcome, why := newPolicy(t, r.rules...).Decide(r.request)
		if outcome != r.want {
			t.Errorf("%s: %s (%s), want %s", r.name, outcome, why, r.want)
		}
		if why == "" {
			t.Errorf("%s: no reason", r.name)
		}
	}
}

// Without a repository of its own, an agent could make one in its directory
// and have git run what its configuration says.
func TestGitIsAskedForWithoutARepository(t *testing.T) {
	p, err := permission.NewPolicy(permission.Settings{Dir: dir, Readlink: readlink, Exists: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	if outcome, why := p.Decide(run("git status")); outcome != permission.Ask {
		t.Errorf("%s: %s", outcome, why)
	}
}

func TestRulesThatAllowEverythingAreRefused(t *testing.T) {
	for name, r := range map[string]permission.Rule{
		"bare Bash":               {Tool: "Bash"},
		"bare shell":              {Tool: "shell"},
		"every tool":              {Tool: "*"},
		"tools that begin with b": {Tool: "b*"},
		"every command":           {Kind: permission.Execute},
		"everything":              {},
		"star":                    {Command: "*"},
		"two stars":               {Command: "* *"},
		"part of a name":          {Command: "g* *"},
		"variable and star":       {Command: "A=1 *"},
		"any shell line":          {Command: "bash -c *"},
		"any script":              {Command: "sh *"},
		"shell that reads":        {Command: "bash"},
		"any python":              {Command: "python3.12 *"},
		"python code":             {Command: "python -c *"},
		"python module":           {Command: "python -m *"},
		"any env":                 {Command: "env *"},
		"env of one":              {Command: "env go test"},
		"any xargs":               {Command: "xargs *"},
		"eval":                    {Command: "eval *"},
		"any sudo":                {Command: "sudo *"},
		"sudo with an option":     {Command: "sudo -u root *"},
		"sudo shell":              {Command: "sudo bash"},
		"any source":              {Command: ". *"},
	} {
		r.Outcome, r.Origin = permission.Allow, "den.toml"
		_, err := permission.NewPolicy(permission.Settings{Dir: dir, Rules: []permission.Rule{r}})
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, want a usage error with a hint", name, err)
		} else if !strings.Contains(err.Error(), "den.toml") {
			t.Errorf("%s: %v does not say where the rule stands", name, err)
		}
	}
	for name, r := range map[string]permission.Rule{
		"script":        {Command: "bash scripts/build.sh *"},
		"python module": {Command: "python3 -m pytest *"},
		"sudo of one":   {Command: "sudo systemctl restart *"},
		"reading":       {Tool: "Read"},
	} {
		r.Outcome = permission.Allow
		if _, err := permission.NewPolicy(permission.Settings{Dir: dir, Rules: []permission.Rule{r}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRulesThatNothingMatchesAreRefused(t *testing.T) {
	for name, r := range map[string]permission.Rule{
		"no outcome":        {Tool: "x"},
		"unknown outcome":   {Outcome: "perhaps", Tool: "x"},
		"unknown kind":      {Outcome: permission.Deny, Kind: "write"},
		"path with ..":      {Outcome: permission.Deny, Path: "../x"},
		"bad path":          {Outcome: permission.Deny, Path: "a[/b"},
		"open quote":        {Outcome: permission.Deny, Command: "echo 'x"},
		"blank command":     {Outcome: permission.Deny, Command: "  "},
		"path and command":  {Outcome: permission.Deny, Path: "x", Command: "y"},
		"command to read":   {Outcome: permission.Deny, Kind: permission.Read, Command: "y"},
		"home without home": {Outcome: permission.Deny, Path: "~/x"},
	} {
		if _, err := permission.NewPolicy(permission.Settings{Dir: dir, Rules: []permission.Rule{r}}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}

func TestExplainNamesTheRuleAndTheParts(t *testing.T) {
	r := denyCommand("git push *")
	r.Why, r.Origin = "releases are made by people", "den.toml"
	e := newPolicy(t, r).Explain(run("git status && git push origin"))
	if e.Outcome != permission.Deny || e.Rule == nil || e.Rule.Command != "git push *" {
		t.Fatalf("%+v", e)
	}
	for _, want := range []string{"git push origin", "den.toml", "releases are made by people"} {
		if !strings.Contains(e.Why, want) {
			t.Errorf("%q does not say %q", e.Why, want)
		}
	}
	if len(e.Parts) != 2 || e.Parts[0].Outcome != permission.Allow || e.Parts[1].Outcome != permission.Deny {
		t.Errorf("parts: %+v", e.Parts)
	}
}

// Where a rule only might match, what decides is said first, and the rule's text
// has one layer of quotes.
func TestReasonBeforeRule(t *testing.T) {
	p, err := permission.NewPolicy(permission.Settings{Dir: dir, Rules: []permission.Rule{{Outcome: permission.Deny, Command: "rm *"}}})
	if err != nil {
		t.Fatal(err)
	}
	const rule = "rule deny command 'rm *'"
	for line, want := range map[string]string{
		"rm x":      "run 'rm x': " + rule,
		"make rm x": "run 'make rm x': 'make' is not known to be harmless; " + rule + " might match",
	} {
		if _, why := p.Decide(run(line)); why != want {
			t.Errorf("%s: %q, want %q", line, why, want)
		}
	}
	for line, rules := range map[string]string{ // only a rule is named that may match
		"ls":                     "",
		"cd x && make":           "",
		"cd .. && make":          "",
		"cat ~/.ssh/id_rsa":      "",
		"cat ~/.env":             "",
		"cat ~/project/.env":     "**/.env",
		"HOME=/x; cat ~/a":       "**/.env",
		"cat ~/a*":               "**/.env",
		"cat ~x/a":               "**/.env",
		"cat $x":                 "**/.env",
		"cd /tmp && rm x":        "rm *",
		"cd /tmp && $x":          "rm *",
		"for a in b; do c; done": "rm *",
	} {
		for _, bypass := range []bool{false, true} {
			p, err := permission.NewPolicy(permission.Settings{Dir: dir, Home: "/home/ana", Bypass: bypass, Rules: []permission.Rule{{Outcome: permission.Deny, Command: "rm *"}, {Outcome: permission.Deny, Path: "**/.env"}}})
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range []string{"", "/tmp"} {
				e := p.Explain(permission.Request{Kind: permission.Execute, Command: line, Dir: in})
				named := ""
				for _, part := range e.Parts {
					if part.Rule != nil {
						named = part.Rule.Command + part.Rule.Path
					}
				}
				if named != rules {
					t.Errorf("%s in %q, bypass %v: it names the rule %q, want %q: %s", line, in, bypass, named, rules, e.Why)
				}
			}
		}
	}
	if _, why := p.Decide(run("for a in b; do ls; done")); strings.HasPrefix(why, "run the command: rule") || !strings.HasSuffix(why, "; "+rule+" might match") {
		t.Errorf("a line that is not understood: %q", why)
	}
}
