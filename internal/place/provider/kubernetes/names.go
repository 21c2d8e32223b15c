package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
)

// The labels and annotations by which our pods are known. Nothing without the
// first two is ever listed, stopped or removed.
const (
	managedLabel   = "app.kubernetes.io/managed-by"
	managedValue   = "den"
	ownerLabel     = "den/owner"
	ownerNote      = "den/owner"   // the raw owner
	nameNote       = "den/session" // the raw name
	specNote       = "den/spec"    // a digest of what the pod was made from
	claimNote      = "den/claim"   // who starts a session in it, and since when
	startedNote    = "den/started" // a started value, as JSON
	endedNote      = "den/ended"   // a podhost.End, as JSON
	metaNotePrefix = "meta.den/"   // one annotation a key
)

// A pod's name has a part that people can read and a digest of the owner and
// the session's name, because many owners share a namespace and a pod's name
// holds less than a session's.
const (
	maxReadable = 40
	nameDigest  = 10
	maxLabel    = 63
)

var (
	unreadable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
	labelValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`) })
)

// podName is the name of a session's pod.
func podName(owner, name string) string {
	shown := unreadable().ReplaceAllString(strings.ToLower(name), "-")
	shown = strings.Trim(shown[:min(len(shown), maxReadable)], "-")
	return strings.Trim("den-"+shown, "-") + "-" + digest(owner+"\x00"+name, nameDigest)
}

// ownerValue is the owner as a label's value. One that does not fit is replaced
// by a digest, and one that looks like a digest too.
func ownerValue(owner string) string {
	if len(owner) <= maxLabel && labelValue().MatchString(owner) && !strings.HasPrefix(owner, "x-") {
		return owner
	}
	return "x-" + digest(owner, 32)
}

func digest(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:n]
}
