package grid

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxDays bounds a span that is written in days.
const maxDays = 36600

// ParseSpan reads a span of time: one or more NUMBER UNIT without spaces, where
// UNIT is d (24 hours), h, m, s or ms, as in 30d, 1h30m or 250ms.
func ParseSpan(s string) (time.Duration, error) {
	rest, total := s, time.Duration(0)
	if days, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || !(n >= 0 && n <= maxDays) {
			return 0, noSpan(s)
		}
		if total, rest = time.Duration(n*24*float64(time.Hour)), after; rest == "" {
			return total, nil
		}
	}
	if _, err := strconv.ParseFloat(rest, 64); err == nil && rest != "0" {
		return 0, fmt.Errorf("%q has no unit: write %ss for seconds, %sm for minutes, %sh for hours", shown(s), shown(s), shown(s), shown(s))
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || total+d < total {
		return 0, noSpan(s)
	}
	return total + d, nil
}

func noSpan(s string) error {
	return fmt.Errorf("%q is no span of time: write it like 30d, 1h30m or 250ms", shown(s))
}

// FormatSpan writes a span as ParseSpan reads it, without units of which there are none.
func FormatSpan(d time.Duration) string {
	if d >= 24*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	s := d.String() // 1h0m0s
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
