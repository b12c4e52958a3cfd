package daemon

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

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

// Where the command line says to listen elsewhere, the file's is what a reload compares.
func TestListensInstead(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	if got := c.listens(); !slices.Equal(got, c.Listen) {
		t.Errorf("it listens at %v", got)
	}
	file := c.Listen
	c.ListenInstead = []string{"/ip4/127.0.0.1/tcp/0"}
	if got := c.listens(); !slices.Equal(got, c.ListenInstead) || !slices.Equal(c.Listen, file) {
		t.Errorf("it listens at %v, the file says %v", got, c.Listen)
	}
	c.ListenInstead = []string{}
	if got := c.listens(); len(got) != 0 {
		t.Errorf("one that only dials out listens at %v", got)
	}
}

// What was written into the file while the daemon started is taken up at the first SIGHUP, as it started by what the file was before.
func TestReloadOfWhatChangedDuringTheStart(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	text, err := os.ReadFile(c.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.File, append(text, "\nlog: {level: debug}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	hangup, done := make(chan os.Signal), make(chan error)
	s := &site{cfg: c, log: zap.NewNop(), level: zap.NewAtomicLevel(), broker: broker.NewBroker(core.Config{}, nil, broker.Ports{}), hangups: hangups{configuration: hangup}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- s.reload(ctx) }()
	for range 2 { // the second is heard when the first was done
		hangup <- unix.SIGHUP
	}
	cancel()
	if err := <-done; err != nil || s.level.Level() != zap.DebugLevel {
		t.Errorf("level %v, %v", s.level, err)
	}
}

// SIGHUP ends no daemon that starts or stops: it waits for who reads the files, and is heard after he has gone.
func TestHangupBeforeAndAfter(t *testing.T) {
	t.Parallel()
	h := hear()
	defer h.stop()
	hangsUp := func(when string) {
		if err := unix.Kill(os.Getpid(), unix.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for _, c := range []chan os.Signal{h.configuration, h.neighbours} {
			select {
			case <-c:
			case <-time.After(time.Minute):
				t.Fatalf("%s it is not heard", when)
			}
		}
	}
	hangsUp("before the files are followed")
	c := initSite(t)
	s := &site{cfg: c, log: zap.NewNop(), hangups: h}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := errors.Join(s.reload(gone), s.watch(gone)); err != nil {
		t.Fatal(err)
	}
	hangsUp("afterwards")
}
