package main

import (
	"fmt"
	"time"

	"den/internal/chat/irc"
)

// ircClients measures what clients cost that only listen: the server's memory,
// and a JOIN as the channel grows.
func (b *bench) ircClients(servers []*ircServer) error {
	sizes := pick(b, []int{10, 100, 1000}, []int{10, 100})
	figures := map[string][]*series{} // by case, the servers in order
	for _, s := range servers {
		lines, err := b.ircCrowds(s, sizes)
		if err != nil {
			return fmt.Errorf("%s: %w", s.who, err)
		}
		for _, line := range lines {
			figures[line.Case] = append(figures[line.Case], line)
		}
	}
	for _, all := range figures {
		compare(all[0], all[1:]...)
	}
	return nil
}

// ircRest is how long a server rests before its memory is read.
const ircRest = 2 * time.Second

// ircCrowds measures one server with more and more clients.
func (b *bench) ircCrowds(s *ircServer, sizes []int) ([]*series, error) {
	crowd := &ircCrowd{server: s}
	defer crowd.close()
	empty, err := readMemory(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	var lines []*series
	for _, n := range sizes {
		if err := crowd.grow(n); err != nil {
			return nil, err
		}
		time.Sleep(ircRest)
		full, err := readMemory(s.cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		held := b.out.one(fmt.Sprintf("%d idle clients on a channel, memory (PSS)", n), s.who, "MB", full.pss)
		held.Note = fmt.Sprintf("%.1f MB before the first, %.1f KB a client", empty.pss, (full.pss-empty.pss)*1000/float64(n))
		took, cpu, err := crowd.joins(b.rounds(30, 10))
		if err != nil {
			return nil, err
		}
		lines = append(lines, held,
			b.out.add(fmt.Sprintf("JOIN to %d clients, until the list of names is there", n), s.who, "ms", took),
			b.out.add(fmt.Sprintf("JOIN and PART among %d clients, CPU of the server", n), s.who, "ms", cpu))
	}
	return lines, nil
}

// ircCrowd is clients on one channel that only listen.
type ircCrowd struct {
	server *ircServer
	idle   []*ircConn
}

func (c *ircCrowd) grow(to int) error {
	for len(c.idle) < to {
		// Few at a time, so that those who joined read what servers send.
		all, err := joinIRC(c.server.address, "#idle", "idle", min(to-len(c.idle), 100))
		if err != nil {
			return err
		}
		for _, conn := range all {
			go conn.until(func(irc.Message) bool { return false }) // reads until it is closed
		}
		c.idle = append(c.idle, all...)
	}
	return nil
}

// joins has one more client join and part, again and again.
func (c *ircCrowd) joins(n int) (took, cpu []float64, err error) {
	guests, err := joinIRC(c.server.address, "#lobby", "guest", 1)
	if err != nil {
		return nil, nil, err
	}
	defer closeIRC(guests)
	guest, pid := guests[0], c.server.cmd.Process.Pid
	for range n {
		before, err := onCPU(pid)
		if err != nil {
			return nil, nil, err
		}
		begun := time.Now()
		if err := guest.join("#idle"); err != nil {
			return nil, nil, err
		}
		took = append(took, msSince(begun))
		if err := guest.send("PART #idle\r\nPING :done"); err != nil {
			return nil, nil, err
		}
		if err := guest.until(func(m irc.Message) bool { return m.Command == "PONG" }); err != nil {
			return nil, nil, err
		}
		if err := c.settle(); err != nil {
			return nil, nil, err
		}
		after, err := onCPU(pid)
		if err != nil {
			return nil, nil, err
		}
		cpu = append(cpu, float64((after-before).Microseconds())/1000)
	}
	return took, cpu, nil
}

// settle returns when the server has done nothing for a moment: the others may
// hear of a JOIN after the one who joined.
func (c *ircCrowd) settle() error {
	pid := c.server.cmd.Process.Pid
	for {
		before, err := onCPU(pid)
		if err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
		after, err := onCPU(pid)
		if err != nil || after-before < 100*time.Microsecond {
			return err
		}
	}
}

// close drops the connections.
func (c *ircCrowd) close() {
	for _, conn := range c.idle {
		conn.conn.Close() // Best effort: nothing was sent.
	}
}

// ircLoadMemory reads the most memory that each server held while it delivered
// lines to many.
func (b *bench) ircLoadMemory(servers []*ircServer) error {
	p := ircChannel{receivers: pick(b, 200, 50)}
	var peaks []*series
	for _, s := range servers {
		pid := s.cmd.Process.Pid
		if err := resetPeak(pid); err != nil {
			return err
		}
		if _, _, err := s.load(p, 2*ircLines); err != nil {
			return fmt.Errorf("%s: %w", s.who, err)
		}
		peak, err := peakRSS(pid)
		if err != nil {
			return err
		}
		peaks = append(peaks, b.out.one(p.String()+", most memory (RSS)", s.who, "MB", peak))
	}
	compare(peaks[0], peaks[1:]...)
	return nil
}
