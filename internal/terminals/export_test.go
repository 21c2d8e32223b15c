package terminals

// LetGo gives up the client's lock, as its end by a kill does.
func (c *Client) LetGo() error { return c.lock.Close() }
