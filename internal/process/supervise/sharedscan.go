package supervise

import "sync"

// sharedScan lets callers share an expensive scan: those that arrive during
// one share the next. Otherwise ending many sessions at once would scan all
// processes for each. A result is never older than the call.
type sharedScan struct {
	scan func() []int

	scanning sync.Mutex // held during a scan

	mu   sync.Mutex // guards the field below
	next *oneScan   // the scan that has not begun, or nil
}

type oneScan struct {
	once  sync.Once
	found []int
}

func (s *sharedScan) find() []int {
	one := s.join()
	one.once.Do(func() {
		s.scanning.Lock()
		defer s.scanning.Unlock()
		s.mu.Lock()
		s.next = nil // who comes from here on needs a younger scan
		s.mu.Unlock()
		one.found = s.scan()
	})
	return one.found
}

// join returns the scan that has not begun.
func (s *sharedScan) join() *oneScan {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &oneScan{}
	}
	return s.next
}
