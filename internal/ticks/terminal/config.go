package terminal

import (
	"time"
)

// What terminals are like.
const (
	Max  = 20 // terminals, numbered from 0
	Cols = 120
	Rows = 40
)

// Limits of tools.
const (
	defaultWait = 30 * time.Second
	maxWait     = 60 * time.Second
	// loginWait is how long login waits for the output of startup commands.
	loginWait = 15 * time.Second
	// openWait is how long open waits for a program that is going to wait for
	// input, to show how it begins.
	openWait = 500 * time.Millisecond
	// maxText bounds what one call types.
	maxText = 256 << 10
	// callLimit bounds a question to a host.
	callLimit = 10 * time.Second
	// killGrace is how long a program may take to end before it is killed.
	killGrace = 2 * time.Second
)

// Config is what a Set needs to know.
type Config struct {
	Name string // of the agent's instance; begins the sessions' names
	Data string // the data repository, absolute
	// State is a directory outside of the data repository that is not wiped
	// between ticks, absolute. It keeps what login must know of earlier ticks.
	State   string
	Tick    int
	Startup []Startup
	Place   Place
	// Adopt keeps the terminals that an earlier tick left. Otherwise login
	// closes them.
	Adopt   bool
	Notices []string    // told at login, such as why an image was not built
	Warn    func(error) // or nil; told what could not be written or read
	// Gather is how long a wait listens to a program that prints and goes on; 0
	// means ten seconds.
	Gather time.Duration
	// Record is told when a terminal was opened, and when it was archived or
	// found lost; or nil. It may be called by several goroutines.
	Record func(Record)
}

// Record is what is kept of a terminal.
type Record struct {
	Number  int
	Command string
	Label   string // or ""
	Session string // den's id of it
	Tick    int    // in which it was opened
	Opened  time.Time
	Closed  time.Time // zero while it is open
	Status  string    // how its program ended, as in the status file
	// Archive and Recording are below the data repository: "" while it is open,
	// and where there is none.
	Archive   string
	Recording string
	Notes     []string // what could not be kept
}

// Startup is a terminal that login opens.
type Startup struct {
	Number  int
	Command string // or "": a shell
	Label   string // or ""
}

// withFirst returns the startup terminals with terminal 0 among them.
func withFirst(startup []Startup) []Startup {
	for _, s := range startup {
		if s.Number == 0 {
			return startup
		}
	}
	return append([]Startup{{}}, startup...)
}
