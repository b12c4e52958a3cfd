package torque

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
)

// ourName begins the names of our reservations in Maui.
const ourName = "gbroker."

// size is what a row of showres tells beyond showres -n.
type size struct {
	native       string
	nodes, cores int
}

// rowsOf reads a table: a head, a line of column names that begins with first, rows and a line
// of their number. What rows hold is told to row as words, which it
// must not keep.
func rowsOf(call string, text []byte, first string, head, foot func(line string) (bool, error), row func(words []string) error) error {
	stage, f := 0, make([]string, 16)
	err := lines(call, text, func(line string) error {
		n := fields(line, f)
		if n == 0 {
			return nil
		}
		is, err := false, error(nil)
		switch {
		case stage == 0:
			is, err = head(line)
		case stage == 1:
			is = f[0] == first
		case stage == 2:
			if is, err = foot(line); err == nil && !is {
				return row(f[:n])
			}
		}
		if err == nil && !is {
			err = errors.New("it does not belong here")
		}
		stage++
		return err
	})
	if err == nil && stage != 3 {
		err = unreadable(call, "its end", text, errors.New("the table is not whole"))
	}
	return err
}

// counted makes a foot that tells a number of rows.
func counted(rows *int, words string) func(line string) (bool, error) {
	return func(line string) (bool, error) {
		n, rest, _ := strings.Cut(line, " ")
		if strings.Replace(rest, "reservation ", "reservations ", 1) != words {
			return false, nil
		}
		told, err := number(n, 0, maxJobs)
		if err == nil && int(told) != *rows {
			err = fmt.Errorf("%d rows, where there are %d", told, *rows)
		}
		return true, err
	}
}

// parseSizes reads what showres prints: how many nodes and processors the reservations have that are no job's.
func parseSizes(call string, text []byte) ([]size, error) {
	rows := 0
	list := make([]size, 0, min(bytes.Count(text, []byte(" User ")), maxJobs))
	head := func(line string) (bool, error) { return line == "Reservations", nil }
	err := rowsOf(call, text, "ReservationID", head, counted(&rows, "reservations located"), func(words []string) error {
		rows++
		s, job, err := sizeOf(words)
		if err == nil && !job {
			list = append(list, s)
		}
		return err
	})
	return list, err
}

// sizeOf reads ID TYPE STATE START END DURATION NODES/PROCESSORS and a date.
func sizeOf(words []string) (s size, job bool, err error) {
	if len(words) < 11 {
		return s, false, fmt.Errorf("a row of %d words, not 11", len(words))
	}
	count := strings.Join(words[6:len(words)-4], "") // it may be padded inside: 12/ 48
	nodes, cores, is := strings.Cut(count, "/")
	n, err1 := number(nodes, 0, maxNodes)
	p, err2 := number(cores, 0, 1<<40)
	if err := errors.Join(err1, err2); err != nil || !is {
		return s, false, fmt.Errorf("%.40q is not NODES/PROCESSORS: %w", count, err)
	}
	if job, err = isJob(words[1]); job || err != nil {
		return s, job, err
	}
	return size{strings.Clone(words[0]), int(n), int(p)}, false, checkWord(words[0])
}

// isJob tells the reservations of jobs from others.
func isJob(kind string) (bool, error) {
	switch kind {
	case "Job":
		return true, nil
	case "User", "Meta":
		return false, nil
	}
	return false, fmt.Errorf("a reservation of the unknown type %.40q", kind)
}

// interval is when a row begins, and for how long.
func interval(relative, duration string, words []string, at grid.Tick) (start, length grid.Tick, err error) {
	offset, err1 := mauiSpan(relative)
	length, err2 := mauiSpan(duration)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	if offset >= maxSpan || offset <= -maxSpan { // INFINITY; its date is of no use
		return at + offset, length, nil
	}
	start, err = instant(words, at+offset)
	return start, length, err
}

// ourID is our own identifier of a reservation that Maui calls name, "" of others'.
func ourID(name string) string {
	rest, is := strings.CutPrefix(name, ourName)
	id, n, numbered := strings.Cut(rest, ".")
	if !is || !numbered || n == "" || strings.Trim(n, "0123456789") != "" || checkOurID(id) != nil {
		return ""
	}
	return id
}

func checkOurID(id string) error {
	if id == "" || len(id) > 24 || strings.Trim(id, letters) != "" {
		return fmt.Errorf("%.40q is no identifier of ours: 1 to 24 letters and digits", id)
	}
	return nil
}

// held is one row of showres -n: a reservation on a node.
type held struct {
	native     string
	node       grid.NodeName
	start, end grid.Tick
}

// parseHeld reads what showres -n prints at an instant: the reservations that are no job's, node by
// node. (Its column of tasks is 1 for all of them.)
func parseHeld(at grid.Tick) func(call string, text []byte) ([]held, error) {
	return func(call string, text []byte) ([]held, error) {
		rows := 0
		list := make([]held, 0, min(bytes.Count(text, []byte(" User ")), maxJobs))
		head := func(line string) (bool, error) { return strings.HasPrefix(line, "reservations on "), nil }
		err := rowsOf(call, text, "NodeName", head, counted(&rows, "nodes reserved"), func(words []string) error {
			rows++
			h, job, err := heldOf(words, at)
			if err == nil && !job {
				list = append(list, h)
			}
			return err
		})
		return list, err
	}
}

// heldOf reads NODE TYPE ID JOBSTATE TASKS START DURATION and a date.
func heldOf(words []string, at grid.Tick) (h held, job bool, err error) {
	if len(words) != 11 {
		return h, false, fmt.Errorf("a row of %d words, not 11", len(words))
	}
	start, length, err := interval(words[5], words[6], words[7:], at)
	if err != nil {
		return h, false, err
	}
	if job, err = isJob(words[1]); job || err != nil {
		return h, job, err
	}
	h = held{strings.Clone(words[2]), grid.NodeName(strings.Clone(words[0])), start, start + length}
	return h, false, errors.Join(checkWord(words[0]), checkWord(words[2]))
}
