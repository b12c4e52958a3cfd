package grid

import "testing"

func TestSizes(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{"0": 0, "17": 17, "1kB": 1000, "1KiB": 1024, "1.5GiB": 3 << 29, "1_000": 1000, "2 TiB": 2 << 40, "3B": 3} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "GiB", "-1", "1e300", "NaN", "Inf", "0.5B", "1024PiB", "64gb", "1/s", "1 2"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", s, got)
		}
	}
	for _, n := range []int64{1, 1000, 1024, 64 << 30, 1_500_000_000, 12345} {
		if got, err := ParseSize(FormatSize(n)); err != nil || got != n {
			t.Errorf("%d written as %s is read as %d, %v", n, FormatSize(n), got, err)
		}
	}
}
