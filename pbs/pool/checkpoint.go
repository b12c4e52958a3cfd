package pool

import "strings"

// saves tells that a path is of the checkpoint that a job writes.
func (e *entry) saves(inside string) bool {
	at := string(e.Assignment.Checkpoint)
	return at != "" && (inside == at || strings.HasPrefix(inside, at+"/"))
}

// wrote keeps on what platform the checkpoint of a job was written; s.mu is held.
func (s *System) wrote(e *entry, c *computer) error {
	d := c.desk()
	if e.Wrote == d.Platform() {
		return nil
	}
	e.Wrote = d.Platform()
	return s.spool(e)
}

// foreign tells that the checkpoint of a job was written on another platform than its computer is: it begins anew there. s.mu is held.
func (e *entry) foreign() bool {
	if e.computer == nil || e.lead().Wrote == "" {
		return false
	}
	d := e.computer.desk()
	return e.lead().Wrote != d.Platform()
}
