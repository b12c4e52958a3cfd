package daemon

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"gbroker/broker"
	"gbroker/broker/core"
)

// Every field of the file is compared, and none that is not there.
func TestEveryFieldIsCompared(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, f := range configFields(&document{}, &Config{}) {
		want = append(want, f.name)
	}
	for _, p := range configParts {
		name, _, _ := strings.Cut(p.name, ".")
		if !slices.Contains(got, name) {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("compared are %v\nthe file has %v", got, want)
	}
}

func TestDiffering(t *testing.T) {
	t.Parallel()
	a, b := Default("/s"), Default("/s")
	if live, later := differing(&a, &b); live != nil || later != nil {
		t.Errorf("of equal ones differ %v %v", live, later)
	}
	b.LogLevel, b.Limits.Jobs, b.Speed, b.Batch.Cores, b.LogFormat = "debug", 7, 2, 9, "json"
	live, later := differing(&a, &b)
	if !slices.Equal(live, []string{"limits", "log.level"}) || !slices.Equal(later, []string{"speed", "batch", "log.format"}) {
		t.Errorf("live %v, by a restart %v", live, later)
	}
}

// The level of the log follows the file; what a restart is needed for is told again and again.
func TestReloaded(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	seen, logs := observer.New(zap.DebugLevel)
	s := &site{cfg: c, log: zap.New(seen), level: zap.NewAtomicLevel(), broker: broker.NewBroker(core.Config{}, nil, broker.Ports{})}
	text, err := os.ReadFile(c.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.File, append(text, "\nlog: {level: debug}\nestimate_deadline: 3s\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	now := s.reloaded(s.reloaded(c))
	if s.level.Level() != zap.DebugLevel || now.LogLevel != "debug" || now.EstimateDeadline != c.EstimateDeadline {
		t.Errorf("level %v, configuration %+v", s.level, now)
	}
	if told := logs.FilterMessageSnippet("need a restart").Len(); told != 2 {
		t.Errorf("told %d times", told)
	}
}
