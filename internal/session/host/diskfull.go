package host

import (
	"errors"
	"fmt"
	"log"
	"syscall"

	"den/internal/session/cell"
)

// With the disk full, cells run all the same: the code may be what makes room.
// Their results say what was not saved, and the records of those that ended
// meanwhile are written when there is room again.

// maxUnsaved bounds the records that wait. Beyond it the oldest are lost: 'den
// poll' then shows what was last saved of them.
const maxUnsaved = 32

func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// notSaved says that something of a cell could not be written.
func notSaved(what string, err error) string {
	var why syscall.Errno
	if errors.As(err, &why) {
		return fmt.Sprintf("%s (%v)", what, why)
	}
	return fmt.Sprintf("%s (%v)", what, err)
}

// saveLocked writes the cell's record. That of a cell that is over waits for
// room.
func (r *running) saveLocked(rec cell.Record) error {
	cs := r.cells
	err := r.journal.Save(rec)
	if !rec.Final() {
		return err
	}
	if err == nil {
		err = cs.store.NotBefore(rec.CellID) // it could perhaps not be made the last one
	}
	if err != nil {
		if cs.unsaved = append(cs.unsaved, rec); len(cs.unsaved) > maxUnsaved {
			cs.unsaved = cs.unsaved[1:]
		}
	}
	return err
}

// saveUnsavedLocked writes the records that wait, and stops at the first that
// cannot be written.
func (cs *cells) saveUnsavedLocked() {
	for len(cs.unsaved) > 0 {
		if err := cs.store.Put(cs.unsaved[0]); err != nil {
			log.Printf("save a cell that ended while the disk was full: %v", err)
			return
		}
		cs.unsaved = cs.unsaved[1:]
	}
}

// saveUnsaved writes the records that wait, if there is room.
func (cs *cells) saveUnsaved() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.saveUnsavedLocked()
}

// lostEvents counts the events that the log could not record.
func (c *core) lostEvents() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Stats().LostEvents
}

// describeLost says that a number of events was not recorded, and why if it
// lasts.
func (c *core) describeLost(events uint64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	what := fmt.Sprintf("%d events of the session's log", events)
	if why := c.log.Stats().Paused; why != "" {
		what += " (" + why + ")"
	}
	return what
}
