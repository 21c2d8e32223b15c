package agenttty

import (
	"encoding/json"
	"errors"
	"fmt"

	"den/internal/base/fault"
	"den/internal/base/ident"
)

// The codes of errors, as the original names them.
const (
	internalError       = "INTERNAL_ERROR"
	skillNotFound       = "SKILL_NOT_FOUND"
	invalidSessionID    = "INVALID_SESSION_ID"
	invalidDimensions   = "INVALID_DIMENSIONS"
	invalidSignal       = "INVALID_SIGNAL"
	invalidKeys         = "INVALID_KEYS"
	invalidDuration     = "INVALID_DURATION"
	invalidInput        = "INVALID_INPUT"
	sessionNotFound     = "SESSION_NOT_FOUND"
	sessionNotRunning   = "SESSION_NOT_RUNNING"
	alreadyDestroyed    = "SESSION_ALREADY_DESTROYED"
	hostTimeout         = "HOST_TIMEOUT"
	hostUnreachable     = "HOST_UNREACHABLE"
	exportError         = "EXPORT_ERROR"
	storageReadError    = "STORAGE_READ_ERROR"
	protocolError       = "PROTOCOL_ERROR"
	rpcError            = "RPC_ERROR"
	replayError         = "REPLAY_ERROR"
	waitTimeout         = "WAIT_TIMEOUT"
	exitUsage           = 2
	exitWaitTimeout     = 11
	exitKeepGoingFailed = 1
)

var exits = map[string]int{
	internalError: 1, skillNotFound: 1,
	invalidSessionID: 2, invalidDimensions: 2, invalidSignal: 2, invalidKeys: 2, invalidDuration: 2, invalidInput: 2,
	sessionNotFound: 3, sessionNotRunning: 4, alreadyDestroyed: 4, hostTimeout: 5, hostUnreachable: 6, exportError: 7,
	storageReadError: 8, protocolError: 9, rpcError: 9, replayError: 10, waitTimeout: exitWaitTimeout,
}

// byKind is the code of den's own errors.
var byKind = map[fault.Kind]string{
	fault.Usage: invalidInput, fault.NotFound: sessionNotFound, fault.NotRunning: sessionNotRunning,
	fault.Busy: rpcError, fault.Unreachable: hostUnreachable, fault.Export: exportError, fault.Storage: storageReadError,
	fault.Protocol: protocolError, fault.Unsupported: invalidInput, fault.Timeout: hostTimeout, fault.Denied: storageReadError,
}

// codedError is an error whose code its kind does not tell.
type codedError struct {
	code string
	error
}

func (e codedError) Unwrap() error { return e.error }

func coded(code, format string, args ...any) error {
	return codedError{code, fmt.Errorf(format, args...)}
}

// as gives errors of a kind another code.
func as(kind fault.Kind, code string, err error) error {
	if err != nil && fault.KindOf(err) == kind {
		return codedError{code, err}
	}
	return err
}

func codeOf(err error) string {
	var c codedError
	if errors.As(err, &c) {
		return c.code
	}
	if code, ok := byKind[fault.KindOf(err)]; ok {
		return code
	}
	return internalError
}

func exitOf(code string) int {
	if status, ok := exits[code]; ok {
		return status
	}
	return 1
}

func retryable(code string) bool {
	return code == hostUnreachable || code == hostTimeout || code == rpcError
}

// checkRef refuses what can be neither an id nor a name.
func checkRef(ref string) error {
	if err := ident.Check("session", ref); err != nil {
		return codedError{invalidSessionID, err}
	}
	return nil
}

// denError is the error that den printed, or nil.
func denError(out []byte) error {
	var o fault.Object
	if json.Unmarshal(out, &o) != nil || o.Status != "error" || o.Kind == "" {
		return nil
	}
	return fault.Errorf(o.Kind, "%s", o.Output)
}
