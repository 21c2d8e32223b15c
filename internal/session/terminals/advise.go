package terminals

import (
	"strings"

	"den/internal/base/fault"
)

// hints says what a client can do about errors of a kind.
type hints map[fault.Kind]string

// usual are the hints for errors of which the caller says nothing.
var usual = hints{
	fault.NotRunning:  "snapshot shows its last screen; open opens another terminal",
	fault.Unreachable: "close ends it",
	fault.Busy:        "try again in a moment",
}

// advise replaces hints that are for people at a command line.
func advise(err error, by hints) error {
	if err == nil {
		return nil
	}
	kind := fault.KindOf(err)
	hint, has := by[kind]
	if has {
		return fault.Hintf(err, "%s", hint)
	}
	if !strings.Contains(fault.HintOf(err), "den ") {
		return err
	}
	if hint, has = usual[kind]; has {
		return fault.Hintf(err, "%s", hint)
	}
	return fault.Errorf(kind, "%s", err.Error()) // without its hint
}
