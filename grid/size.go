package grid

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits of ParseSize, in bytes.
var sizeUnits = map[string]int64{
	"": 1, "B": 1,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// ParseSize reads a number of bytes: NUMBER [UNIT], where UNIT is kB, MB, GB, TB
// (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024).
func ParseSize(s string) (int64, error) {
	number, unit := SplitUnit(s)
	factor, ok := sizeUnits[unit]
	if !ok {
		return 0, fmt.Errorf("%q has no unit of bytes: write it like 64GiB, 500MB or 1000000%s", shown(s), otherUnit(number, unit))
	}
	v, err := strconv.ParseFloat(number, 64)
	switch n := v * float64(factor); {
	case err != nil:
		return 0, fmt.Errorf("%q is no size: write it like 64GiB, 500MB or 1000000", shown(s))
	case n < 0 || n > float64(MaxMemory):
		return 0, fmt.Errorf("%s is out of range: a size is 0 to %dTiB", shown(s), MaxMemory>>40)
	case n != math.Trunc(n):
		return 0, fmt.Errorf("%s is no whole number of bytes", shown(s))
	default:
		return int64(n), nil
	}
}

// FormatSize writes bytes as ParseSize reads them, in the largest unit that is exact.
func FormatSize(n int64) string {
	for _, u := range []string{"TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "kB"} {
		if f := sizeUnits[u]; n >= f && n%f == 0 {
			return fmt.Sprintf("%d%s", n/f, u)
		}
	}
	return strconv.FormatInt(n, 10)
}

// otherUnit turns the usual slips (64G, 64gb) into what was meant.
func otherUnit(number, unit string) string {
	switch strings.ToLower(strings.TrimSuffix(strings.ToLower(unit), "b")) {
	case "k", "ki":
		return fmt.Sprintf(" (here %sKiB or %skB)", number, number)
	case "m", "mi", "g", "gi", "t", "ti":
		letter := strings.ToUpper(unit[:1])
		return fmt.Sprintf(" (here %s%siB or %s%sB)", number, letter, number, letter)
	}
	return ""
}

// SplitUnit parts a number from the letters behind it.
func SplitUnit(s string) (number, unit string) {
	i := len(s)
	for i > 0 && (s[i-1] >= 'a' && s[i-1] <= 'z' || s[i-1] >= 'A' && s[i-1] <= 'Z') {
		i--
	}
	return strings.ReplaceAll(strings.TrimSpace(s[:i]), "_", ""), s[i:]
}

// shown is as much of a text as an error shows.
func shown(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
