package rpc

// IdleClients returns how many clients wait for nothing.
func (s *Server) IdleClients() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		if c.idle() {
			n++
		}
	}
	return n
}
