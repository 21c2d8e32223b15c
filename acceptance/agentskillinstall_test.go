package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"den/internal/testkit/need"
)

// newPackage builds a Debian package that asks three questions by debconf, in
// an order of its own, and a root directory to install it in. As a task it is
// to install it and answer each question right.
func newPackage(t *testing.T) *debPackage {
	t.Helper()
	for _, name := range []string{"dpkg", "dpkg-deb", "dpkg-query", "debconf"} {
		need.Program(t, name)
	}
	p := &debPackage{dir: t.TempDir(), order: shuffled("password", "tone", "statistics"), tones: shuffled("rude", "polite", "silent")}
	t.Logf("it asks for %v; the tones are %v", p.order, p.tones)
	asks := ""
	for _, q := range p.order {
		asks += fmt.Sprintf("db_input critical greeter/%s || true\ndb_go || true\n", q)
	}
	for name, text := range map[string]string{
		"build/DEBIAN/control":      debControl,
		"build/DEBIAN/templates":    fmt.Sprintf(debTemplates, strings.Join(p.tones, ", ")),
		"build/DEBIAN/config":       debScript + asks,
		"build/DEBIAN/postinst":     debScript + debPostinst,
		"root/etc/debconf.conf":     debconfConf,
		"root/var/lib/dpkg/status":  "",
		"root/var/lib/dpkg/info/.d": "",
	} {
		writeExecutable(t, filepath.Join(p.dir, name), text)
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "root/var/cache/debconf"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("dpkg-deb", "--build", "--root-owner-group", filepath.Join(p.dir, "build"), p.file()).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
	return p
}

type debPackage struct {
	dir   string
	order []string // of the questions
	tones []string // in the order of the menu

	asked  []string // in the order in which they came
	status int      // of the installer
}

const (
	debControl = "Package: greeter\nVersion: 1.0\nArchitecture: all\nMaintainer: Nobody <nobody@example.org>\nDescription: greets\n"

	debTemplates = `Template: greeter/password
Type: password
Description: Password of the administrator:

Template: greeter/tone
Type: select
Choices: %s
Description: Tone of the greetings:

Template: greeter/statistics
Type: boolean
Default: true
Description: Send statistics to the authors?
`

	debScript = "#!/bin/sh\nset -e\n. /usr/share/debconf/confmodule\n"

	debPostinst = `for q in password tone statistics; do
	db_get greeter/$q
	echo "$q=$RET" >>"$DPKG_ROOT/etc/greeter.conf"
done
`

	debconfConf = `Config: configdb
Templates: templatedb

Name: configdb
Driver: File
Filename: /var/cache/debconf/config.dat

Name: templatedb
Driver: File
Filename: /var/cache/debconf/templates.dat
`

	adminPassword = "correct horse 7"
)

func (p *debPackage) file() string { return filepath.Join(p.dir, "greeter.deb") }

func (p *debPackage) root() string { return filepath.Join(p.dir, "root") }

func (p *debPackage) command() string {
	return fmt.Sprintf("DEBIAN_FRONTEND=readline dpkg --root=%s --force-script-chrootless --log=/dev/null -i %s", p.root(), p.file())
}

func (p *debPackage) prompt() string {
	return "Use the den skill to run this installer: " + p.command() + " . It asks three questions. The password is " + adminPassword +
		" , the tone is polite, and no statistics are sent. Tell me its exit code."
}

func (p *debPackage) next(verb string, r denAnswer) move {
	switch {
	case verb == "":
		return use("new", "work", "-j")
	case r.Status == "error":
		return say("den says: %s", r.Output)
	case verb == "new":
		return use("run", "work", p.command(), "-t", "2m", "-j")
	case verb == "kill":
		return say("The exit code is %d.", p.status)
	case r.WaitingFor != "":
		return p.answer(r)
	case r.Status == "done" && r.ExitCode != nil:
		p.status = *r.ExitCode
		return use("kill", "work", "-j")
	}
	return use("poll", "work", "-j")
}

// answer chooses by the question, and for a menu by what stands above it.
func (p *debPackage) answer(r denAnswer) move {
	p.asked = append(p.asked, r.Question)
	switch {
	case strings.Contains(r.Question, "assword"):
		return use("answer", "work", adminPassword, "-j")
	case strings.Contains(r.Question, "statistics"):
		return use("answer", "work", "no", "-j")
	case strings.Contains(r.Question, "Tone"):
		if items := regexp.MustCompile(`(\d+)\. polite`).FindAllStringSubmatch(r.Output, -1); items != nil {
			return use("answer", "work", items[len(items)-1][1], "-j")
		}
	}
	return say("I cannot answer: %s", r.Question)
}

// expectInstalled looks at what dpkg and the package's own script made of the
// answers.
func (p *debPackage) expectInstalled(t *testing.T, said string) {
	t.Helper()
	if !strings.Contains(said, "The exit code is 0.") {
		t.Errorf("the agent says %s", said)
	}
	state, err := exec.Command("dpkg-query", "--admindir="+filepath.Join(p.root(), "var/lib/dpkg"), "-W", "-f", "${Status}", "greeter").CombinedOutput()
	if err != nil || string(state) != "install ok installed" {
		t.Errorf("dpkg says %s, %v", state, err)
	}
	got, err := os.ReadFile(filepath.Join(p.root(), "etc/greeter.conf"))
	if want := "password=" + adminPassword + "\ntone=polite\nstatistics=false\n"; err != nil || string(got) != want {
		t.Errorf("the answers are %q, %v; want %q", got, err, want)
	}
	if len(p.asked) != len(p.order) {
		t.Fatalf("it was asked %q", p.asked)
	}
	for i, q := range p.order {
		if !strings.Contains(strings.ToLower(p.asked[i]), q) {
			t.Errorf("question %d was %q, want that of %s", i, p.asked[i], q)
		}
	}
}

func shuffled(words ...string) []string {
	words = slices.Clone(words)
	rand.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return words
}

func writeExecutable(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
