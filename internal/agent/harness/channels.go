package harness

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

const (
	channelsVersion = 1
	maxChannelsFile = 1 << 20
	maxChannels     = 500 // of each kind; the oldest are forgotten
	maxInvited      = 200 // agents that are invited to one channel
)

// channelsFile is what is remembered of channels over restarts. Names are
// compared without regard to case, as most servers do.
type channelsFile struct {
	V int `json:"v"`
	// Joined are the channels that the agent joined by itself.
	Joined []string `json:"joined,omitempty"`
	// Offered are the channels that the agent was told of by an invitation.
	Offered []string `json:"offered,omitempty"`
	// Invited are the agents that were invited, by channel.
	Invited []invitedTo `json:"invited,omitempty"`
}

type invitedTo struct {
	Channel string   `json:"channel"`
	Nicks   []string `json:"nicks"`
}

// channels keeps a channelsFile.
type channels struct {
	path string

	mu   sync.Mutex // guards file, and the one on disk
	file channelsFile
}

func openChannels(path string) (*channels, error) {
	file, _, err := statefile.Load[channelsFile](path, channelsVersion, maxChannelsFile)
	if err != nil {
		return nil, statefile.Advise(fmt.Errorf("read the agent's channels: %w", err), "remove the file to forget which channels the agent joined by itself")
	}
	return &channels{path: path, file: file}, nil
}

// change alters what is remembered, on disk first.
func (p *channels) change(alter func(*channelsFile)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.file.clone()
	alter(&next)
	if err := statefile.Save(p.path, channelsVersion, next); err != nil {
		return fault.Errorf(fault.Storage, "remember the agent's channels: %w", err)
	}
	p.file = next
	return nil
}

func (f channelsFile) clone() channelsFile {
	f.Joined, f.Offered, f.Invited = slices.Clone(f.Joined), slices.Clone(f.Offered), slices.Clone(f.Invited)
	return f
}

// withJoined adds the channels that the agent joined by itself.
func (p *channels) withJoined(channels []string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(channels)
	for _, name := range p.file.Joined {
		if !hasName(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// wasOffered reports whether the agent was told of an invitation to a channel.
func (p *channels) wasOffered(channel string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return hasName(p.file.Offered, channel)
}

// mayInvite reports whether an agent is to be invited to a channel: once, and
// not more than there is room for.
func (p *channels) mayInvite(channel, nick string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.file.invitedAt(channel)
	return at < 0 || len(p.file.Invited[at].Nicks) < maxInvited && !hasName(p.file.Invited[at].Nicks, nick)
}

func hasName(all []string, name string) bool {
	return slices.ContainsFunc(all, func(other string) bool { return strings.EqualFold(other, name) })
}

// withName appends a name, and forgets the oldest where there are too many.
func withName(all []string, name string) []string {
	if hasName(all, name) {
		return all
	}
	all = append(all, name)
	return all[max(0, len(all)-maxChannels):]
}

func (f *channelsFile) join(channel string)  { f.Joined = withName(f.Joined, channel) }
func (f *channelsFile) offer(channel string) { f.Offered = withName(f.Offered, channel) }

func (f *channelsFile) leave(channel string) {
	f.Joined = slices.DeleteFunc(f.Joined, func(name string) bool { return strings.EqualFold(name, channel) })
}

func (f *channelsFile) invitedAt(channel string) int {
	return slices.IndexFunc(f.Invited, func(i invitedTo) bool { return strings.EqualFold(i.Channel, channel) })
}

func (f *channelsFile) invite(channel, nick string) {
	at := f.invitedAt(channel)
	if at < 0 {
		f.Invited = append(f.Invited, invitedTo{Channel: channel})
		f.Invited = f.Invited[max(0, len(f.Invited)-maxChannels):]
		at = len(f.Invited) - 1
	}
	f.Invited[at].Nicks = append(slices.Clone(f.Invited[at].Nicks), nick)
}
