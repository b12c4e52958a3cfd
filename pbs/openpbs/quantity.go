package openpbs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gbroker/grid"
)

// forever is how long OpenPBS takes a job to be that has no walltime.
const forever = 5 * 365 * grid.Day

// units of a size, as powers of 1024.
var units = map[string]uint{"": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40, "tb": 40, "p": 50, "pb": 50}

// size reads a size such as 16gb, in bytes. Words (16gw) are of 8 bytes.
func size(text string) (int64, error) {
	digits := strings.TrimRight(text, "bkmgtpwBKMGTPW")
	unit := strings.ToLower(text[len(digits):])
	words := strings.HasSuffix(unit, "w")
	if words {
		unit = strings.TrimSuffix(unit, "w")
	}
	shift, known := units[unit]
	if words {
		shift += 3
	}
	n, err := strconv.ParseUint(digits, 10, 60)
	if !known || err != nil || n > uint64(grid.MaxAmount)<<20>>shift {
		return 0, fmt.Errorf("%.40q is no size from 0 to 1 EiB, such as 512mb", text)
	}
	return int64(n << shift), nil
}

// number reads a whole number from 0 to most.
func number(text string, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%.40q is no number from 0 to %d", text, most)
	}
	return n, nil
}

// duration reads HH:MM:SS, MM:SS or seconds.
func duration(text string) (grid.Tick, error) {
	var sum int64
	parts := strings.Split(text, ":")
	for _, p := range parts {
		n, err := number(p, 1<<40)
		if err != nil || len(parts) > 3 || sum > 1<<34 {
			return 0, fmt.Errorf("%.40q is no duration, such as 01:30:00", text)
		}
		sum = sum*60 + n
	}
	return grid.Tick(sum) * grid.Second, nil
}

// walltime is a duration as OpenPBS takes it, rounded up to the second.
func walltime(t grid.Tick) string {
	s := int64((t + grid.Second - 1) / grid.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// date reads an instant such as "Fri Nov 20 23:05:46 2026", which is UTC by our TZ.
func date(text string) (grid.Tick, error) {
	t, err := time.Parse(time.ANSIC, text)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return 0, fmt.Errorf("%.40q is no date, such as Fri Nov 20 23:05:46 2026", text)
	}
	return grid.InstantOf(t), nil
}

// epoch reads an instant in seconds since 1970.
func epoch(text string) (grid.Tick, error) {
	n, err := number(text, 1<<38)
	return grid.Tick(n) * grid.Second, err
}

// instant writes an instant as pbs_rsub takes it.
func instant(t grid.Tick) string { return t.Time().Format("200601021504.05") }

// truth reads a boolean.
func truth(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "t", "1", "y":
		return true, nil
	case "false", "f", "0", "n":
		return false, nil
	}
	return false, fmt.Errorf("%.40q is neither True nor False", text)
}
