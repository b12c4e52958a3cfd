package daemon

import (
	"slices"
	"testing"

	desks "gbroker/pool"
)

// What a pool is told of deadlines is what it gets, and each mistake is told in words.
func TestPoolConfig(t *testing.T) {
	t.Parallel()
	const at = "gbroker.yaml:2:"
	read := func(batch string) (Config, Mistakes) {
		cfg := Default("/site")
		mistakes := parseConfig(&cfg, "gbroker.yaml", []byte("site: a\nbatch: "+batch+"\n"))
		return cfg, mistakes
	}
	for batch, want := range map[string]string{
		"{system: pool, rule: fcfs}":      at + `29: batch.rule: "fcfs" is no rule for deadlines: write edf, slack or best`,
		"{system: pool, margin: much}":    at + `31: batch.margin: much is no number: write it as 0.5`,
		"{system: pool, presume: 2}":      at + `32: batch.presume: 2 is out of range: write 0.01 to 1`,
		"{system: pool, copies: 9}":       at + `31: batch.copies: 9 is out of range: write 1 to 8`,
		"{system: pool, copies: two}":     at + `31: batch.copies: two is no whole number: write it as 2`,
		"{system: embedded, rule: slack}": at + `33: batch.rule: this is of a pool of desktops: write system: pool, or remove this`,
	} {
		if _, got := read(batch); got.Error() != want {
			t.Errorf("%s:\n got %s\nwant %s", batch, got, want)
		}
	}
	cfg, mistakes := read("{system: pool, rule: best, margin: 0.2, presume: 0.25, copies: 3, untrusted: [desk7, desk9]}")
	p, err := cfg.ThePool()
	want := desks.Best
	want.Margin = 0.2
	if len(mistakes) > 0 || err != nil || p.Rule != want || p.Presume != 0.25 || p.Copies != 3 || !slices.Equal(p.Untrusted, []string{"desk7", "desk9"}) {
		t.Errorf("%+v, %v, %v", p, mistakes, err)
	}
}
