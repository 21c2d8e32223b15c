package native

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"den/internal/base/ident"
)

// A session of owner "city" and name "w-1" is "city.w-1" among all sessions of
// the Home. What den's names cannot hold is replaced, and a digest of the
// original makes it unique again; the labels have the original. An owner's
// part has no '.', so where it ends is never in doubt.

// Digests are long enough that two names never meet by accident; a name that
// ends as if it had one gets one, so none can be made to meet either.
const (
	ownerDigest = 10
	nameDigest  = 16
	maxOwner    = 40 // of what a name may have, in bytes
	maxReadable = 50 // what people see of a name that does not fit
)

var (
	plainOwner  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
	likeDigest  = regexp.MustCompile(`(^|-)x[0-9a-f]+$`)
	notReadable = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// ownerTag is what all session names of an owner begin with, before the '.'.
func ownerTag(owner string) string {
	if len(owner) <= maxOwner && plainOwner.MatchString(owner) && !likeDigest.MatchString(owner) {
		return owner
	}
	return digested(owner, ownerDigest, maxOwner-ownerDigest-len("-x"))
}

// ref is the session's name in the Home.
func (p *Provider) ref(name string) string {
	if ref := p.tag + "." + name; ident.Check("session", ref) == nil && !likeDigest.MatchString(name) {
		return ref
	}
	return p.tag + "." + digested(name, nameDigest, maxReadable)
}

// DenSession is the session's name for den's own verbs.
func (p *Provider) DenSession(name string) string { return p.ref(name) }

// digested is a readable part of at most readable bytes and a digest.
func digested(s string, digest, readable int) string {
	sum := sha256.Sum256([]byte(s))
	shown := strings.TrimLeft(notReadable.ReplaceAllString(s, "-"), "-")
	shown = shown[:min(len(shown), readable)]
	return strings.TrimLeft(shown+"-x"+hex.EncodeToString(sum[:])[:digest], "-")
}
