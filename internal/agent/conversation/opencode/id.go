package opencode

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"time"
)

// opencode orders messages by their ids: the time in milliseconds and a
// counter, 48 bits of both, and then 14 characters that den makes of its own
// id. By these a message that was sent before is found again.
const ownLength = 14

func messageID(own string, at time.Time) string {
	const counter = 1
	stamp := (uint64(at.UnixMilli())<<12 | counter) & (1<<48 - 1)
	return fmt.Sprintf("msg_%012x%s", stamp, own)
}

// ownPart is the part of a message's id that comes from den's.
func ownPart(id string) string {
	sum := sha256.Sum256([]byte(id))
	text := new(big.Int).SetBytes(sum[:]).Text(62)
	return fmt.Sprintf("%0*s", ownLength, text)[:ownLength]
}
