// Package providertest is the one suite that every provider passes: all that
// the contract in package provider promises, tried with real programs.
//
// A provider's test is a Harness and a call of Run. What a provider cannot do
// it lists as Unsupported; the suite then holds it to saying so.
package providertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"den/internal/place/provider"
)

// The abilities that a provider may lack.
const (
	Attach          = "Attach"
	Nudge           = "Nudge"
	SendKeys        = "SendKeys"
	Interrupt       = "Interrupt"
	Peek            = "Peek"
	ProcessAlive    = "ProcessAlive" // with names
	GetLastActivity = "GetLastActivity"
	Terminal        = "Terminal" // no method: the command has no terminal
)

// Harness is what the suite needs to know of a provider.
type Harness struct {
	// New opens the provider at a place that is the subtest's own: others run
	// beside it. Sessions that are left there at the end the suite stops.
	New func(t *testing.T) provider.Provider
	// Reopen opens p's place once more for the same owner, as another process
	// would.
	Reopen func(t *testing.T, p provider.Provider) provider.Provider
	// Owner2 opens p's place for another owner.
	Owner2 func(t *testing.T, p provider.Provider) provider.Provider
	// Break makes p's place one that cannot be asked, and mend undoes that.
	// Nil where nothing can come between.
	Break func(t *testing.T, p provider.Provider) (mend func())
	// Impatient is Reopen with a provider that gives up soon where its place
	// cannot be asked. Nil if all do.
	Impatient func(t *testing.T, p provider.Provider) provider.Provider

	// Unsupported lists what the provider cannot do, by the constants above.
	Unsupported []string
	// Base is what every session starts with: an image, for example. The suite
	// adds to it.
	Base provider.Config
	// Share makes directories of this machine appear in a session at the same
	// paths. Nil where they do anyway.
	Share func(c *provider.Config, dirs ...string)
	// Enter is what the program reads for the Enter key, and for a line end in
	// a nudge: "" means "\r".
	Enter string
	// Detach is what a person types to leave Attach.
	Detach string
	// Sessions is how many the concurrent test runs at once; 0 means 50.
	Sessions int
	// KeepsDaemons says that Stop does not find a process that left both its
	// parent and its terminal.
	KeepsDaemons bool
	// Patience is how long the suite waits for what must come; 0 means two
	// minutes.
	Patience time.Duration
}

// secret is in the suite's own environment, and must not be in a session's.
const secret = "PROVIDERTEST_SECRET"

// Run tries one provider, most cases side by side. The caller's test is to have
// no other beside it.
func Run(t *testing.T, h Harness) {
	if h.Enter == "" {
		h.Enter = "\r"
	}
	if h.Sessions == 0 {
		h.Sessions = 50
	}
	if h.Patience == 0 {
		h.Patience = 2 * time.Minute
	}
	t.Setenv(secret, "not for sessions")
	helper := BuildHelper(t)
	for _, c := range append(leakCases, testCase{"Environment", environment}) { // alone: they are about all of this process
		t.Run(c.name, func(t *testing.T) { c.run(newWorld(t, h, helper)) })
	}
	for _, c := range slices.Concat(lifecycleCases, nameCases, queryCases, talkCases, inputCases, metaCases, environmentCases, togetherCases, abilityCases, attachCases, exitCases, stageCases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newWorld(t, h, helper))
		})
	}
}

type testCase struct {
	name string
	run  func(*world)
}

// Helper is the variable that names a helper that was built before, for who runs
// the suite in many processes.
const Helper = "PROVIDERTEST_HELPER"

// builder is the home directory that the caches of the compiler are below: tests
// of a provider may set another one later.
var builder = os.Getenv("HOME")

// BuildHelper builds the program that runs in sessions: static, so that it
// runs in any container.
func BuildHelper(t *testing.T) string {
	t.Helper()
	if built := os.Getenv(Helper); built != "" {
		return built
	}
	// Its own directory, for it is shown to sessions as it is.
	dir, err := os.MkdirTemp("", "den-helper-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // Best effort.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "helper")
	cmd := exec.Command("go", "build", "-o", path, "den/internal/testkit/providertest/helper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "HOME="+builder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the helper: %v\n%s", err, out)
	}
	return path
}
