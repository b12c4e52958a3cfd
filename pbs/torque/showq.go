package torque

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// place is where a job stands in Maui's queue.
type place struct {
	rank    int    // the lower the earlier
	blocked string // why Maui does not consider it; "" is that it does
}

// lines goes through an output by lines, and names the line in what f finds wrong.
func lines(call string, text []byte, f func(line string) error) error {
	n := 0
	for rest := text; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		n++
		if len(line) > maxText {
			return unreadable(call, "line "+strconv.Itoa(n), text, errors.New("the line is too long"))
		}
		if err := f(string(line)); err != nil {
			return unreadable(call, "line "+strconv.Itoa(n), text, err)
		}
	}
	return nil
}

// sectionsOfQueue are the headings of showq, in their order.
var sectionsOfQueue = []string{"ACTIVE JOBS---", "IDLE JOBS---", "BLOCKED JOBS---"}

// blockedWords are the states that showq gives to jobs that it does not consider.
var blockedWords = strings.Fields("Hold Idle Deferred BatchHold UserHold SystemHold NotQueued Staged Starting Unknown")

// queueReader reads showq.
type queueReader struct {
	section int // 0 before the first
	rows    [4]int
	order   map[string]place
	total   bool
	words   [10]string // of a line
}

// parseQueue reads what showq prints: the jobs that wait, as Maui orders them. That there
// are none says nothing: a server that is down looks the same.
func parseQueue(call string, text []byte) (map[string]place, error) {
	r := queueReader{order: make(map[string]place, min(len(text)/100, maxJobs))}
	err := lines(call, text, r.line)
	if err == nil && !r.total {
		err = unreadable(call, "its end", text, errors.New("there is no line of totals"))
	}
	return r.order, err
}

func (r *queueReader) line(line string) error {
	switch {
	case line == "" || strings.HasPrefix(line, "JOBNAME "):
		return nil
	case r.section < 3 && strings.HasPrefix(line, sectionsOfQueue[r.section]):
		r.section++
		return nil
	case r.section == 3 && strings.HasPrefix(line, "Total Jobs: "):
		r.total = true
		return r.totals(line)
	case r.section == 0 || r.total:
		return errors.New("it does not belong here")
	}
	return r.row(line)
}

// totals checks the last line: Maui may count jobs that it does not print, but it prints none that it does not count.
func (r *queueReader) totals(line string) error {
	var all, active, idle, blocked int
	n, err := fmt.Sscanf(line, "Total Jobs: %d   Active Jobs: %d   Idle Jobs: %d   Blocked Jobs: %d", &all, &active, &idle, &blocked)
	if err != nil || n != 4 {
		return fmt.Errorf("the totals cannot be read: %w", err)
	}
	if active < r.rows[1] || idle < r.rows[2] || blocked < r.rows[3] || all < r.rows[1]+r.rows[2]+r.rows[3] {
		return fmt.Errorf("the totals are below the rows, %d, %d and %d", r.rows[1], r.rows[2], r.rows[3])
	}
	return nil
}

// row reads JOBNAME USERNAME STATE PROC TIME and a date, or a line that counts.
func (r *queueReader) row(line string) error {
	f := r.words[:]
	n := fields(line, f)
	if isCount(r.section, f[:n]) {
		return nil
	}
	if n != 9 {
		return fmt.Errorf("a row of %d words, not 9", n)
	}
	if _, err := number(f[3], 0, 1<<31); err != nil {
		return fmt.Errorf("the processors: %w", err)
	}
	if _, err := mauiSpan(f[4]); err != nil {
		return err
	}
	if _, _, err := date(f[5:9], leapYear); err != nil {
		return err
	}
	r.rows[r.section]++
	if r.section == 1 {
		return nil
	}
	at := place{rank: len(r.order)}
	if r.section == 3 {
		if at.blocked = f[2]; !slices.Contains(blockedWords, f[2]) {
			return fmt.Errorf("the state %.40q is not known", f[2])
		}
	}
	if len(r.order) == maxJobs {
		return fmt.Errorf("more than %d jobs", maxJobs)
	}
	r.order[strings.Clone(f[0])] = at
	return nil
}

// isCount tells the lines that count: "2 Active Jobs ...", "2 of 2 Nodes Active ..." and "1 Idle Job".
func isCount(section int, f []string) bool {
	job := len(f) > 2 && (f[2] == "Job" || f[2] == "Jobs")
	switch section {
	case 1:
		return job && f[1] == "Active" || len(f) > 3 && f[1] == "of" && f[3] == "Nodes"
	case 2:
		return job && f[1] == "Idle" && len(f) == 3
	}
	return job && f[1] == "Blocked" && len(f) == 3
}

// parseBlocked reads what showq -b prints: JOBNAME USER and, to the end of the line, why Maui does not consider it.
func parseBlocked(call string, text []byte) (map[string]string, error) {
	why, head := make(map[string]string), false
	err := lines(call, text, func(line string) error {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
		switch reason = strings.Join(strings.Fields(reason), " "); {
		case line == "":
			return nil
		case !head && id == "JobName" && reason == "Reason":
			head = true
			return nil
		case !head || reason == "":
			return errors.New("it is not JOBNAME USER REASON")
		case len(why) == maxJobs:
			return fmt.Errorf("more than %d jobs", maxJobs)
		}
		why[strings.Clone(id)] = fmt.Sprintf("%.200s", reason)
		return nil
	})
	if err == nil && !head {
		err = unreadable(call, "its head", text, errors.New("there is no line of column names"))
	}
	return why, err
}

// fields splits a line at its blanks into list, and counts: one more than fits is len(list).
func fields(line string, list []string) int {
	n := 0
	for word := range strings.FieldsSeq(line) {
		if n == len(list) {
			return n
		}
		list[n] = word
		n++
	}
	return n
}
