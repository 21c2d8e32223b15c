package sandbox

// Environ and Common are for tests.
func (p Policy) Environ(all []string) []string { return p.environ(all) }

var Common = common
