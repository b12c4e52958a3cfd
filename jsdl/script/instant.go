package script

import (
	"fmt"
	"strings"
	"time"
)

// hours of the day that Slurm has words for.
var hours = map[string]int{"midnight": 0, "noon": 12, "fika": 15, "teatime": 16}

// units of a span behind now+, in the singular.
var units = map[string]time.Duration{
	"": time.Second, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
}

// dayForms and clockForms are how Slurm writes days and times of day; a form without a year means the
// next such day.
var (
	dayForms   = []string{"2006-1-2", "010206", "0102", "1/2/06", "1/2", "1.2.06", "1.2"}
	clockForms = []string{"15:04:05", "15:04", "3:04:05pm", "3:04pm"}
)

// slurmInstant reads a time as --begin takes it: now+COUNT UNIT, a day, a time of day, or both.
func slurmInstant(s string, now time.Time) (time.Time, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	wrong := fmt.Errorf("%s is no time such as now+2hours, 18:30, tomorrow or 2027-01-31T08:00", short(s))
	if rest, is := strings.CutPrefix(text, "now"); is {
		d, ok := later(strings.ReplaceAll(rest, " ", ""))
		if !ok {
			return now, wrong
		}
		return now.Add(d), nil
	}
	day, clock, both := separate(text)
	if !both {
		if at, ok := timeOfDay(text); ok {
			t := on(now, at)
			if !t.After(now) {
				t = on(now.AddDate(0, 0, 1), at)
			}
			return t, nil
		}
		day, clock = text, "midnight"
	}
	at, ok := timeOfDay(clock)
	if !ok {
		return now, wrong
	}
	t, ok := onDay(day, at, now)
	if !ok {
		return now, wrong
	}
	return t, nil
}

// later reads +COUNT UNIT or -COUNT UNIT, or nothing.
func later(s string) (time.Duration, bool) {
	if s == "" {
		return 0, true
	}
	digits := strings.TrimRight(s[1:], "abcdefghijklmnopqrstuvwxyz")
	n, err := count(digits, 0, maxSeconds)
	unit, known := units[strings.TrimSuffix(s[1+len(digits):], "s")]
	if err != nil || !known || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	if n > maxSeconds/int64(unit/time.Second) {
		return 0, false
	}
	if s[0] == '-' {
		n = -n
	}
	return time.Duration(n) * unit, true
}

// separate cuts a day from a time of day: at t, at a blank, or at - where a day stands before it.
func separate(s string) (day, clock string, both bool) {
	for _, sep := range []string{" ", "t", "-"} {
		i := strings.LastIndex(s, sep)
		if i <= 0 || i == len(s)-1 {
			continue
		}
		if _, ok := timeOfDay(s[i+1:]); ok {
			return strings.TrimSpace(s[:i]), s[i+1:], true
		}
	}
	return s, "", false
}

func timeOfDay(s string) (time.Duration, bool) {
	if h, is := hours[s]; is {
		return time.Duration(h) * time.Hour, true
	}
	for _, form := range clockForms {
		if t, err := time.ParseInLocation(form, strings.ReplaceAll(s, " ", ""), time.UTC); err == nil {
			return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second, true
		}
	}
	return 0, false
}

// on is a time of the day of t.
func on(t time.Time, at time.Duration) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), int(at/time.Hour), int(at/time.Minute%60), int(at/time.Second%60), 0, t.Location())
}

// onDay is a time of a day, the next one of that date where it has no year.
func onDay(day string, at time.Duration, now time.Time) (time.Time, bool) {
	switch day {
	case "today":
		return on(now, at), true
	case "tomorrow":
		return on(now.AddDate(0, 0, 1), at), true
	}
	for _, form := range dayForms {
		d, err := time.ParseInLocation(form, day, now.Location())
		if err != nil {
			continue
		}
		if d.Year() == 0 {
			d = d.AddDate(now.Year(), 0, 0)
			if !on(d, at).After(now) {
				d = d.AddDate(1, 0, 0)
			}
		}
		return on(d, at), true
	}
	return now, false
}

// pbsInstant reads [[[[CC]YY]MM]DD]hhmm[.SS]; what is left out is that of the next such time.
func pbsInstant(s string, now time.Time) (time.Time, error) {
	wrong := fmt.Errorf("%s is no time [[[[CC]YY]MM]DD]hhmm[.SS]", short(s))
	digits, seconds, _ := strings.Cut(s, ".")
	form := "200601021504"
	if len(digits) > len(form) || len(digits) < 4 || len(digits)%2 != 0 || strings.Trim(digits, "0123456789") != "" {
		return now, wrong
	}
	if seconds == "" {
		seconds = "00"
	}
	// What is missing is that of now, and one more where the time is past.
	whole := now.Format(form)[:len(form)-len(digits)] + digits
	t, err := time.ParseInLocation(form+"05", whole+seconds, now.Location())
	if err != nil || len(seconds) != 2 {
		return now, wrong
	}
	if t.Before(now) {
		switch len(digits) {
		case 4:
			t = t.AddDate(0, 0, 1)
		case 6:
			t = t.AddDate(0, 1, 0)
		case 8:
			t = t.AddDate(1, 0, 0)
		}
	}
	return t, nil
}
