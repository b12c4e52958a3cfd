package torque

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gbroker/grid"
)

// zoneStep divides every zone's distance from UTC, farthest is the largest of them.
const (
	zoneStep = 15 * grid.Minute
	farthest = 15 * grid.Hour
)

// leapYear is one that has every day.
const leapYear = 1972

const (
	months   = "JanFebMarAprMayJunJulAugSepOctNovDec"
	weekdays = "SunMonTueWedThuFriSat"
)

// date reads a date of Maui, such as Fri Nov 20 23:14:25, as UTC in a year; right tells
// whether the day of the week is that of the year.
func date(words []string, year int) (t grid.Tick, right bool, err error) {
	weekday, month := three(weekdays, words[0]), three(months, words[1])
	day, err1 := number(words[2], 1, 31)
	clock := words[3]
	at, err2 := span(clock)
	if err := errors.Join(err1, err2); err != nil || weekday < 0 || month < 0 || len(clock) != 8 || clock[2] != ':' || at >= grid.Day {
		return 0, false, fmt.Errorf("%.60q is no date", strings.Join(words[:4], " "))
	}
	begin := time.Date(year, time.Month(month+1), int(day), 0, 0, 0, 0, time.UTC)
	return grid.InstantOf(begin) + at, int(begin.Weekday()) == weekday && begin.Day() == int(day), nil
}

// three is the place of a word of three letters among others, or -1.
func three(all, word string) int {
	i := strings.Index(all, word)
	if len(word) != 3 || i < 0 || i%3 != 0 {
		return -1
	}
	return i / 3
}

// instant is when a row begins: its date is exact but lacks year and zone, and near, which
// comes of its relative time, is neither exact nor lacks any.
func instant(words []string, near grid.Tick) (grid.Tick, error) {
	year := near.Time().Year()
	for _, y := range []int{year, year - 1, year + 1} {
		t, right, err := date(words, y)
		if err != nil {
			return 0, err
		}
		off := t - near
		if !right || off > farthest || off < -farthest {
			continue
		}
		zone := (off+farthest+zoneStep/2)/zoneStep*zoneStep - farthest
		return t - zone, nil
	}
	return 0, errors.New("its date and its relative time do not agree, by our clock")
}
