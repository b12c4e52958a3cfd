package torque

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// ourName begins the names of our reservations in Maui.
const ourName = "gbroker."

// summary is one row of showres.
type summary struct {
	booking      external.Booking
	nodes, cores int
}

// kindsOfReservation are what a row may be; those of jobs are passed over.
const ofJob = "Job"

var kindsOfReservation = []string{ofJob, "User", "Meta"}

// rowsOf reads a table: a head, a line of column names that begins with first, rows and a line
// of their number. What rows hold is told to row as words.
func rowsOf(call string, text []byte, first string, head, foot func(line string) (bool, error), row func(words []string) error) error {
	stage := 0
	err := lines(call, text, func(line string) error {
		var f [16]string
		n := fields(line, f[:])
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

// parseReservations reads what showres prints, at the instant at.
func parseReservations(at grid.Tick) func(call string, text []byte) ([]summary, error) {
	return func(call string, text []byte) ([]summary, error) {
		rows := 0
		list := make([]summary, 0, min(bytes.Count(text, []byte(" User ")), maxJobs))
		err := rowsOf(call, text, "ReservationID", func(line string) (bool, error) { return line == "Reservations", nil },
			counted(&rows, "reservations located"), func(words []string) error {
				rows++
				s, err := reservation(words, at)
				if err == nil && s.nodes >= 0 {
					list = append(list, s)
				}
				return err
			})
		return list, err
	}
}

// reservation reads ID TYPE STATE START END DURATION NODES/PROCESSORS and a date; nodes below 0 is that of a job.
func reservation(words []string, at grid.Tick) (summary, error) {
	var s summary
	if len(words) < 8 {
		return s, fmt.Errorf("a row of %d words", len(words))
	}
	// N/P may be padded inside: 1/4, 12/ 48
	count := strings.Join(words[6:len(words)-4], "")
	nodes, cores, is := strings.Cut(count, "/")
	n, err1 := number(nodes, 0, maxNodes)
	p, err2 := number(cores, 0, 1<<40)
	if err := errors.Join(err1, err2); err != nil || !is {
		return s, fmt.Errorf("%.40q is not NODES/PROCESSORS: %w", count, err)
	}
	if !slices.Contains(kindsOfReservation, words[1]) {
		return s, fmt.Errorf("a reservation of the unknown type %.40q", words[1])
	}
	start, length, err := interval(words[3], words[5], words[len(words)-4:], at)
	if err != nil {
		return s, err
	}
	if words[1] == ofJob {
		return summary{nodes: -1}, nil
	}
	name := strings.Clone(words[0])
	s = summary{booking: external.Booking{Native: name, ID: ourID(name), Start: start, End: start + length}, nodes: int(n), cores: int(p)}
	return s, checkWord(name)
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
	node   grid.NodeName
	native string
}

// parseHeld reads what showres -n prints: the nodes of the reservations that are no job's. (Its
// column of tasks is 1 for all of them.)
func parseHeld(call string, text []byte) ([]held, error) {
	rows := 0
	list := make([]held, 0, min(bytes.Count(text, []byte(" User ")), maxJobs))
	head := func(line string) (bool, error) { return strings.HasPrefix(line, "reservations on "), nil }
	err := rowsOf(call, text, "NodeName", head, counted(&rows, "nodes reserved"), func(words []string) error {
		rows++
		if len(words) != 11 {
			return fmt.Errorf("a row of %d words, not 11", len(words))
		}
		if !slices.Contains(kindsOfReservation, words[1]) {
			return fmt.Errorf("a reservation of the unknown type %.40q", words[1])
		}
		if words[1] == ofJob {
			return nil
		}
		list = append(list, held{grid.NodeName(strings.Clone(words[0])), strings.Clone(words[2])})
		return errors.Join(checkWord(words[0]), checkWord(words[2]))
	})
	return list, err
}
