package ircd

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/statefile"
	"den/internal/chat/irc"
)

// Channels with a topic or modes of their own are kept while nobody is on
// them, and over a restart: who joins a channel reads its history, so its key
// and its bans must last as long as that.

const (
	channelsVersion = 1
	channelsName    = "channels.json"
	maxChannelsFile = 64 << 20
)

type channelsFile struct {
	Version  int            `json:"version"`
	Channels []savedChannel `json:"channels"`
}

type savedChannel struct {
	Name        string          `json:"name"`
	Created     time.Time       `json:"created"`
	Topic       string          `json:"topic,omitempty"`
	TopicBy     string          `json:"topic_by,omitempty"`
	TopicAt     time.Time       `json:"topic_at,omitzero"`
	InviteOnly  bool            `json:"invite_only,omitempty"`
	Moderated   bool            `json:"moderated,omitempty"`
	NoExternal  bool            `json:"no_external,omitempty"`
	TopicLocked bool            `json:"topic_locked,omitempty"`
	Key         string          `json:"key,omitempty"`
	Limit       int             `json:"limit,omitempty"`
	Bans        []savedBan      `json:"bans,omitempty"`
	Members     map[string]role `json:"members,omitempty"` // by identity; those who may come back
}

type savedBan struct {
	Mask string    `json:"mask"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// kept reports whether a channel outlives its members.
func (ch *channel) kept() bool {
	return ch.topic != "" || ch.inviteOnly || ch.moderated || !ch.noExternal || !ch.topicLocked || ch.key != "" || ch.limit > 0 || len(ch.bans) > 0
}

func (s *Server) channelsPath() string { return filepath.Join(s.cfg.Dir, channelsName) }

// loadChannels reads the channels of an earlier run.
func (s *Server) loadChannels() error {
	file, _, err := statefile.Load[channelsFile](s.channelsPath(), channelsVersion, maxChannelsFile)
	if err != nil {
		return fmt.Errorf("read channels: %w", err)
	}
	for _, saved := range file.Channels {
		if validChannel(saved.Name) && len(s.channels) < s.cfg.Limits.Channels {
			s.channels[fold(saved.Name)] = saved.restore()
		}
	}
	return nil
}

func (saved savedChannel) restore() *channel {
	ch := &channel{
		name: saved.Name, created: saved.Created, topic: irc.Clean(saved.Topic), topicBy: saved.TopicBy, topicAt: saved.TopicAt,
		inviteOnly: saved.InviteOnly, moderated: saved.Moderated, noExternal: saved.NoExternal, topicLocked: saved.TopicLocked,
		key: irc.Clean(saved.Key), limit: saved.Limit, members: map[*client]*role{}, former: saved.Members,
	}
	if ch.former == nil {
		ch.former = map[string]role{}
	}
	for _, b := range saved.Bans {
		ch.bans = append(ch.bans, ban{irc.Clean(b.Mask), b.By, b.At})
	}
	return ch
}

func (ch *channel) save() savedChannel {
	saved := savedChannel{
		Name: ch.name, Created: ch.created, Topic: ch.topic, TopicBy: ch.topicBy, TopicAt: ch.topicAt,
		InviteOnly: ch.inviteOnly, Moderated: ch.moderated, NoExternal: ch.noExternal, TopicLocked: ch.topicLocked,
		Key: ch.key, Limit: ch.limit, Members: maps.Clone(ch.former),
	}
	for _, b := range ch.bans {
		saved.Bans = append(saved.Bans, savedBan{b.mask, b.by, b.at})
	}
	for c, r := range ch.members {
		if id := c.identity(); !passes(id) {
			saved.Members[id] = *r
		}
	}
	return saved
}

// saveChannelsLocked writes the channels that are kept. It is called when a
// topic or a mode has changed, which is rare, and once a second if members
// have.
func (s *Server) saveChannelsLocked() {
	s.membersChanged = false
	if s.history == nil {
		return
	}
	file := channelsFile{Version: channelsVersion}
	for _, name := range slices.Sorted(maps.Keys(s.channels)) {
		if ch := s.channels[name]; ch.kept() {
			file.Channels = append(file.Channels, ch.save())
		}
	}
	data, err := json.MarshalIndent(file, "", "\t")
	if err == nil {
		err = atomicfile.Replace(s.channelsPath(), append(data, '\n'))
	}
	if err != nil {
		s.syncError = fault.Errorf(fault.Storage, "write channels: %w", err)
	}
}
