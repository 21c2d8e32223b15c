package steps

// Expression is what the host is asked to wait for.
func Expression(s *Screen) string { return s.expression() }
