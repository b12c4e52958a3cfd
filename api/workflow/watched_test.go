package workflow

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A folder that is watched, and what its files are known as, are names that a file system takes.
func TestWatchedNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 256)
	for _, name := range []string{"", ".." + "/a", "/a", "a\x00b", "a\nb", long, "a/" + long, strings.Repeat("a/", 600)} {
		for _, p := range []Periodic{{Folder: name, As: "picture"}, {Folder: "incoming", As: name}} {
			if err := p.Check(); err == nil {
				t.Errorf("the folder %.20q with files known as %.20q is taken", p.Folder, p.As)
			}
		}
	}
	good := Periodic{Folder: "in/" + long[1:], As: "Müller's/" + long[1:]}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

// The last instance that has begun by a time is that whose instant is not after it, for any rate and as long as there is time.
func TestLastBegun(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100_000 {
		p := Periodic{Rate: 1 + r.Int64N(1000), Per: time.Duration(1+r.Int64N(1<<uint(1+r.IntN(30)))) * time.Microsecond}
		since := time.Duration(r.Int64N(1 << uint(1+r.IntN(62))))
		if k := p.Last(since); k < 0 || p.Instant(k) > since || p.Instant(k+1) <= since {
			t.Fatalf("seed %d: %d times in %v: after %v the last is %d, at %v, and the next at %v", seed, p.Rate, p.Per, since, k, p.Instant(k), p.Instant(k+1))
		}
	}
}

// Slots can be reserved where it is known when instances begin, and not more often than once in a minute.
func TestReserve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    Periodic
		want string
	}{
		{Periodic{Rate: 1, Per: time.Minute, Reserve: true}, ""},
		{Periodic{Rate: 2, Per: time.Minute, Reserve: true}, "at most once in 1m0s"},
		{Periodic{Folder: "incoming", As: "x", Reserve: true}, "nothing can be reserved"},
	} {
		if err := c.p.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
}
