package torque

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gbroker/grid"
)

// maxSpan bounds every span that is read: 100 years.
const maxSpan = 100 * 366 * grid.Day

// number is a whole number from low to high.
func number(text string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%.40q is no whole number from %d to %d", text, low, high)
	}
	return n, nil
}

// span reads seconds, MM:SS, HH:MM:SS and DD:HH:MM:SS as TORQUE does; hours above 24 are usual.
func span(text string) (grid.Tick, error) {
	var seconds int64
	part, rest, more := strings.Cut(text, ":")
	units := []int64{60, 60, 24}
	units = units[:min(strings.Count(text, ":"), 3)]
	for i := len(units); ; i-- {
		n, err := number(part, 0, int64(maxSpan/grid.Second))
		if err != nil || i < len(units) && len(part) > 3 {
			return 0, fmt.Errorf("%.40q is no span of time", text)
		}
		seconds += n
		if !more {
			break
		}
		if i == 0 {
			return 0, fmt.Errorf("%.40q is no span of time", text)
		}
		seconds *= units[i-1]
		part, rest, more = strings.Cut(rest, ":")
	}
	if grid.Tick(seconds) > maxSpan/grid.Second {
		return 0, fmt.Errorf("%.40q is more than 100 years", text)
	}
	return grid.Tick(seconds) * grid.Second, nil
}

// clock writes a span as H:MM:SS, which TORQUE and Maui read alike; Maui takes MM:SS for hours and
// minutes. Parts of seconds count as whole ones.
func clock(t grid.Tick) string {
	s := int64((t + grid.Second - 1) / grid.Second)
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// mauiSpan reads a relative time of Maui, [-][DD:]HH:MM:SS, or INFINITY.
func mauiSpan(text string) (grid.Tick, error) {
	body, negative := strings.CutPrefix(text, "-")
	if body == "INFINITY" {
		body = strconv.FormatInt(int64(maxSpan/grid.Second), 10)
	} else if n := strings.Count(body, ":"); n < 2 || n > 3 {
		return 0, fmt.Errorf("%.40q is no time of Maui", text)
	}
	t, err := span(body)
	if negative {
		t = -t
	}
	return t, err
}

// memory reads a size, such as 8104kb, 2gb or 1000.
func memory(text string) (int64, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	n, err := number(digits, 0, math.MaxInt64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no size", text)
	}
	unit := strings.ToLower(text[len(digits):])
	shift := 0
	if unit != "" {
		shift = strings.Index("kmgtp", unit[:1])*10 + 10
	}
	switch rest := unit[min(shift/10, 1, len(unit)):]; {
	case rest != "b" && rest != "w" && rest != "":
		err = errors.New("its unit is not known")
	case rest == "w":
		shift += 3 // words of 8 bytes
	}
	if err == nil && n > 1<<60>>shift {
		err = errors.New("it is too much")
	}
	if err != nil {
		return 0, fmt.Errorf("%.40q is no size: %w", text, err)
	}
	return n << shift, nil
}

// seconds reads an instant, in seconds since 1970.
func seconds(text string) (grid.Tick, error) {
	n, err := number(text, 0, 1<<40)
	return grid.Tick(n) * grid.Second, err
}
