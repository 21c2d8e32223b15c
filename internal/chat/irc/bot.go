package irc

// botTags mark the messages of programs: the first is set by a server for
// users with the bot mode, the others by senders.
var botTags = []string{"bot", "+draft/bot", "+bot"}

func isBot(tags Tags) bool {
	for _, key := range botTags {
		if _, ok := tags.Get(key); ok {
			return true
		}
	}
	return false
}
