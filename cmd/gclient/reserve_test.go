package main

import (
	"strings"
	"testing"
	"time"
)

// A time of the day is today's, or tomorrow's where that is near; else the user is asked for the day.
func TestTimesOfTheDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 31, 19, 49, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"20:00": "2027-01-31T20:00", "07:45": "2027-02-01T07:45", "30m": "2027-01-31T20:19", "2027-02-01T18:00": "2027-02-01T18:00",
		"+2h": "2027-01-31T21:49", "+90m": "2027-01-31T21:19", "2027-02-01 18:00": "2027-02-01T18:00", "2027-02-02": "2027-02-02T00:00", "-1h": "",
		"18:00": "", "07:50": "", "25:00": "",
	} {
		at, err := instantOf(text, now)
		if got := at.Format("2006-01-02T15:04"); (err != nil) != (want == "") || want != "" && got != want {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
	if _, err := instantOf("18:00", now); !strings.Contains(err.Error(), "for tomorrow write 2027-02-01T18:00") {
		t.Error(err)
	}
	if at, err := instantOf("23:59", now.Add(-19*time.Hour)); err != nil || at.Day() != 31 {
		t.Errorf("late today is %v, %v", at, err)
	}
}
