package slurm

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"gbroker/grid"
)

// line is one record of scontrol -o show: words KEY=VALUE in an order that Slurm fixes.
// Values are not quoted: those that users write may hold spaces, and whatever looks like
// further words. So each key that is used is looked for with the key that follows it, and
// a record in which one comes twice is not believed.
type line struct {
	text  string            // between two spaces
	found map[string]string // what values gives, for the next line again
}

// value is the value of a key. Where the value is free text, until names the keys of which
// one must follow it; else it ends with the next space.
func (l line) value(key string, until ...string) (string, error) {
	at := after(l.text, key)
	if at < 0 {
		return "", fmt.Errorf("%s= is missing", key)
	}
	rest := l.text[at:]
	if after(rest, key) >= 0 {
		return "", fmt.Errorf("%s= comes twice: a name or a path may imitate it", key)
	}
	if len(until) == 0 {
		value, _, _ := strings.Cut(rest, " ")
		return unset(value), nil
	}
	end := -1
	for _, next := range until {
		if at := after(rest, next) - len(next) - 2; at >= 0 && (end < 0 || at < end) {
			end = at
		}
	}
	if end < 0 {
		return "", fmt.Errorf("%s= is not followed by any of %s", key, strings.Join(until, ", "))
	}
	return unset(rest[:end]), nil
}

// has tells whether the record has a key.
func (l line) has(key string) bool { return after(l.text, key) >= 0 }

// after is the place behind the first " KEY=", or -1.
func after(text, key string) int {
	for from := 0; ; {
		at := strings.Index(text[from:], key)
		if at < 0 {
			return -1
		}
		at += from
		end := at + len(key)
		if at > 0 && text[at-1] == ' ' && end < len(text) && text[end] == '=' {
			return end + 1
		}
		from = at + 1
	}
}

func unset(value string) string {
	if value == "(null)" || value == "N/A" {
		return ""
	}
	return value
}

// values reads several keys at once. The map is good until the next line is read.
func (l line) values(keys ...string) (map[string]string, error) {
	clear(l.found)
	for _, key := range keys {
		value, err := l.value(key)
		if err != nil {
			return nil, err
		}
		l.found[key] = value
	}
	return l.found, nil
}

// eachLine calls one for each record of an output; nothing is said of an empty one.
func eachLine(text []byte, limit int, one func(line) error) error {
	n := 0
	found := make(map[string]string)
	for raw := range bytes.SplitSeq(text, []byte("\n")) {
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		if n++; n > limit {
			return fmt.Errorf("line %d: %w", n, errTooMany)
		}
		if len(raw) > 1<<20 {
			return fmt.Errorf("line %d has %d characters", n, len(raw))
		}
		if err := one(line{" " + string(raw) + " ", found}); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

// instant reads a time as commands print it under TZ=UTC; 0 is none, or not known.
func instant(text string) (grid.Tick, error) {
	switch text {
	case "", "Unknown", "None", "n/a":
		return 0, nil
	}
	t, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return 0, fmt.Errorf("%.40q is no time", text)
	}
	return grid.InstantOf(t), nil
}

func printInstant(t grid.Tick) string { return t.Time().Format("2006-01-02T15:04:05") }

// span reads DAYS-HH:MM:SS, HH:MM:SS or UNLIMITED, which is 0.
func span(text string) (grid.Tick, error) {
	if text == "UNLIMITED" || text == "NONE" || text == "" {
		return 0, nil
	}
	days, clock, long := strings.Cut(text, "-")
	if !long {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) != 3 {
		return 0, fmt.Errorf("%.40q is no span of time", text)
	}
	var total grid.Tick
	for i, part := range append([]string{days}, parts...) {
		n, err := number(part)
		if err != nil {
			return 0, fmt.Errorf("%.40q is no span of time: %w", text, err)
		}
		total += grid.Tick(n) * [...]grid.Tick{grid.Day, grid.Hour, grid.Minute, grid.Second}[i]
	}
	return total, nil
}
