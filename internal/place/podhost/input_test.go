package podhost_test

import "den/internal/session/wire"

// inputLine is a line with its Enter.
func inputLine(text string) wire.Input { return wire.Input{Text: &text, Enter: true} }
