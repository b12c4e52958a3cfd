package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
)

// count reads a whole number from least to most.
func count(s string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most || s[0] == '+' {
		return 0, fmt.Errorf("%s is no whole number from %d to %d", short(s), least, most)
	}
	return n, nil
}

// shifts are the powers of 1024 of the letters of a size.
var shifts = map[string]uint{"k": 10, "m": 20, "g": 30, "t": 40, "p": 50}

// size reads an amount of bytes: digits and a unit of which tail may stand behind the letter. A bare number
// counts in unit.
func size(s string, unit int64, tail string) (int64, error) {
	digits := strings.TrimRight(s, "kKmMgGtTpPbBwW")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is no size such as 4gb", short(s))
	}
	letters := strings.ToLower(s[len(digits):])
	factor, words := int64(1), strings.HasSuffix(letters, "w") && strings.Contains(tail, "w")
	stem := strings.TrimRight(letters, tail)
	shift, known := shifts[stem]
	switch {
	case letters == "":
		factor = unit
	case len(letters)-len(stem) > 1 || stem != "" && !known:
		return 0, fmt.Errorf("%s has the unit %s: use kb, mb, gb or tb", short(s), short(letters))
	default:
		factor <<= shift
	}
	if words {
		factor *= 8
	}
	if n > grid.MaxMemory/factor {
		return 0, fmt.Errorf("%s is more than %d bytes", short(s), grid.MaxMemory)
	}
	return n * factor, nil
}

// slurmSize reads a size of sbatch: mebibytes where no unit is given.
func slurmSize(s string) (int64, error) { return size(s, 1<<20, "b") }

// pbsSize reads a size of qsub: bytes where no unit is given.
func pbsSize(s string) (int64, error) { return size(s, 1, "bw") }

// maxSeconds bounds what is added up, far below overflow.
const maxSeconds = int64(10) * 366 * 86400

// noSpan is the error of a text that is no span of time, with one that both dialects know.
func noSpan(s string) error {
	return fmt.Errorf("%s is no span of time: write it as HOURS:MINUTES:SECONDS", short(s))
}

// clock adds up fields between colons, the last counting in units of the last of scales.
func clock(s string, scales ...int64) (int64, error) {
	fields := strings.Split(s, ":")
	if len(fields) > len(scales) {
		return 0, fmt.Errorf("%s has %d fields: at most %d", short(s), len(fields), len(scales))
	}
	var sum int64
	for i, f := range fields {
		n, err := count(f, 0, maxSeconds)
		if err != nil {
			return 0, noSpan(s)
		}
		sum += min(n*scales[len(scales)-len(fields)+i], maxSeconds)
	}
	return sum, nil
}

// slurmSpan reads MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES and
// DAYS-HOURS:MINUTES:SECONDS, as seconds; what Slurm takes for no limit is 0.
func slurmSpan(s string) (int64, error) {
	switch strings.ToLower(s) {
	case "-1", "infinite", "unlimited":
		return 0, nil
	case "":
		return 0, errors.New("no span of time is given")
	}
	if days, rest, is := strings.Cut(s, "-"); is {
		n, err := count(days, 0, maxSeconds/86400)
		if err != nil {
			return 0, noSpan(s)
		}
		var sum int64
		scales := []int64{3600, 60, 1}
		if sum, err = clock(rest, scales[:min(len(scales), strings.Count(rest, ":")+1)]...); err != nil {
			return 0, err
		}
		return n*86400 + sum, nil
	}
	if strings.Count(s, ":") == 2 {
		return clock(s, 3600, 60, 1)
	}
	if strings.Contains(s, ":") {
		return clock(s, 60, 1)
	}
	return clock(s, 60)
}

// pbsSpan reads SECONDS, MINUTES:SECONDS, HOURS:MINUTES:SECONDS and, of TORQUE, DAYS before that, as seconds;
// fractions are dropped.
func pbsSpan(s string, torque bool) (int64, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if strings.Trim(fraction, "0123456789") != "" {
		return 0, noSpan(s)
	}
	if torque {
		return clock(whole, 86400, 3600, 60, 1)
	}
	return clock(whole, 3600, 60, 1)
}
