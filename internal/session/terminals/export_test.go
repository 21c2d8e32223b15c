package terminals

import "den/internal/base/filelock"

// LetGo gives up the client's lock, as its end by a kill does. To close its file
// is not enough: a process that another test starts at that moment has it too.
func (c *Client) LetGo() error { return filelock.Release(c.lock) }
