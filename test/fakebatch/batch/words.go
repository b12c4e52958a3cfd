package batch

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Option is one option of a command, by its letter; long ones by their name.
type Option struct{ Name, Value string }

// Options splits arguments by a getopt specification ("N:h": -N has a value, -h has none);
// names in long, separated by blanks, are long options, with a value where they end in =.
// bad is the first option that is not in it.
func Options(args []string, spec, long string) (opts []Option, rest []string, bad string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return opts, append(rest, args[i+1:]...), ""
		case strings.HasPrefix(a, "--"):
			name, value, has := strings.Cut(a[2:], "=")
			takes, known := longOption(long, name)
			if !known || has && !takes {
				return opts, rest, a
			}
			if takes && !has {
				if i++; i == len(args) {
					return opts, rest, a
				}
				value = args[i]
			}
			opts = append(opts, Option{name, value})
		case len(a) > 1 && a[0] == '-':
			used, o, wrong := cluster(a, args[i+1:], spec)
			if wrong != "" {
				return opts, rest, wrong
			}
			opts = append(opts, o...)
			i += used
		default:
			rest = append(rest, a)
		}
	}
	return opts, rest, ""
}

func longOption(long, name string) (takes, known bool) {
	for _, w := range strings.Fields(long) {
		if strings.TrimSuffix(w, "=") == name {
			return strings.HasSuffix(w, "="), true
		}
	}
	return false, false
}

// cluster reads letters that stand behind one dash.
func cluster(a string, next []string, spec string) (used int, opts []Option, bad string) {
	for k := 1; k < len(a); k++ {
		at := strings.IndexByte(spec, a[k])
		if at < 0 || a[k] == ':' {
			return 0, nil, a[k : k+1]
		}
		name := a[k : k+1]
		if at+1 == len(spec) || spec[at+1] != ':' {
			opts = append(opts, Option{name, ""})
			continue
		}
		if k+1 < len(a) {
			return 0, append(opts, Option{name, a[k+1:]}), ""
		}
		if len(next) == 0 {
			return 0, nil, name
		}
		return 1, append(opts, Option{name, next[0]}), ""
	}
	return 0, opts, ""
}

// Has tells an option that was given.
func Has(opts []Option, name string) bool {
	for _, o := range opts {
		if o.Name == name {
			return true
		}
	}
	return false
}

// Get is the last value of an option.
func Get(opts []Option, name string) string {
	v := ""
	for _, o := range opts {
		if o.Name == name {
			v = o.Value
		}
	}
	return v
}

// Seconds reads SS, MM:SS, HH:MM:SS or DD:HH:MM:SS.
func Seconds(text string) (time.Duration, bool) {
	units := []int64{1, 60, 3600, 86400}
	f := strings.Split(text, ":")
	if len(f) > len(units) {
		return 0, false
	}
	var sum int64
	for i, w := range f {
		n, err := strconv.ParseUint(w, 10, 31)
		if err != nil {
			return 0, false
		}
		sum += int64(n) * units[len(f)-1-i]
	}
	if sum > math.MaxInt32 {
		return 0, false
	}
	return time.Duration(sum) * time.Second, true
}

// HMS is a duration as HH:MM:SS.
func HMS(d time.Duration) string {
	n := int64(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", n/3600, n/60%60, n%60)
}

// sizes by their suffix, in bytes.
var sizes = map[string]int64{"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "w": 8, "kw": 8 << 10, "mw": 8 << 20, "gw": 8 << 30}

// Size reads a size as 1gb; in KiB, rounded up.
func Size(text string) (int64, bool) {
	digits := strings.TrimRight(strings.ToLower(text), "bkmgtw")
	unit, known := sizes[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n < 0 || n > math.MaxInt64/unit/2 {
		return 0, false
	}
	return (n*unit + 1023) / 1024, true
}

// KiB is a size that is known to be one.
func KiB(text string) int64 {
	n, ok := Size(text)
	if !ok {
		return 0
	}
	return n
}

// Long is a time as ctime(3) writes it.
func Long(t time.Time) string { return t.Format("Mon Jan _2 15:04:05 2006") }
