package openpbs

import (
	"cmp"
	"errors"
	"fmt"

	"gbroker/grid"
)

// Bounds of what one output may hold.
const (
	maxJobs  = 1 << 20
	maxNodes = 1 << 17
	maxQueue = 1 << 12
)

// head is what stands above every list of qstat and pbsnodes.
type head struct {
	at      grid.Tick // by the clock of this machine; 0: not told
	version string
	server  string
}

// envelope reads {timestamp, pbs_version, pbs_server, LIST: {NAME: {…}, …}}. each gets every
// name of the list with the scanner before its object. The list may be missing: it is empty.
func envelope(text []byte, list string, each func(name string, s *scanner) error) (head, error) {
	var h head
	var seen struct{ timestamp, version, server, list bool }
	s := &scanner{text: text}
	once := func(flag *bool) error {
		if *flag {
			return errors.New("it occurs twice")
		}
		*flag = true
		return nil
	}
	err := s.object(func(key string) error {
		if key == list {
			if err := once(&seen.list); err != nil {
				return err
			}
			return s.object(func(name string) error { return each(name, s) })
		}
		v, err := s.value()
		if err != nil {
			return err
		}
		switch key {
		case "timestamp":
			if text := v.text(); text != "" { // so it is told in one second of 256, the lowest byte of whose number is 0
				h.at, err = epoch(text)
			}
			return cmp.Or(once(&seen.timestamp), err)
		case "pbs_version":
			h.version = v.text()
			return once(&seen.version)
		case "pbs_server":
			h.server = v.text()
			return once(&seen.server)
		}
		return fmt.Errorf("the key is none of timestamp, pbs_version, pbs_server, %s", list)
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && !(seen.timestamp && seen.version && seen.server) {
		err = errors.New("timestamp, pbs_version or pbs_server is missing")
	}
	return h, err
}

// counted is how many members the list has: one pass that keeps nothing, so that the second
// needs no more memory than its result.
func counted(text []byte, list string, most int) (int, error) {
	n := 0
	_, err := envelope(text, list, func(_ string, s *scanner) error {
		if n++; n > most {
			return fmt.Errorf("more than %d of %s", most, list)
		}
		_, err := s.value()
		return err
	})
	return n, err
}

// members reads the members of an object into fields by their keys, which are emptied first;
// others are passed over. A key that we read may occur once.
func members(s *scanner, fields map[string]*value) error {
	for _, f := range fields {
		*f = nil
	}
	return s.object(func(key string) error {
		v, err := s.value()
		if err != nil {
			return err
		}
		if f := fields[key]; f != nil {
			if *f != nil {
				return errors.New("it occurs twice")
			}
			*f = v
		}
		return nil
	})
}
