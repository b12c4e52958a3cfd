package pool_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"gbroker/pbs/pool"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
)

// The speed of a computer is measured again when its owner does not need it, and the pool hears of it with the next report, and knows it when it is started again.
func TestSpeedIsMeasuredAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := t.TempDir()
	code, err := pool.Invite(s.conf, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Join(t.Context(), dir, "a", code.String()); err != nil {
		t.Fatal(err)
	}
	owner := filepath.Join(dir, "owner")
	if err := os.WriteFile(owner, []byte("active"), 0o600); err != nil {
		t.Fatal(err)
	}
	runner, err := agent.NewRunner(agent.Linux{})
	if err != nil {
		t.Fatal(err)
	}
	var measured atomic.Int32
	a, err := agent.New(agent.Config{
		Dir: dir, Computer: line.Computer{Architecture: "x86_64", System: "LINUX", Cores: 1, Speed: 1}, Runner: runner, Owner: agent.Scripted(owner), Patience: time.Second,
		Measure: func() float64 { measured.Add(1); return 3 }, Gauge: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	s.until("it has reported a few times", func() bool {
		told, err := agent.ReadState(dir)
		return err == nil && told.Availability == line.Active && s.speed("a") == 1
	})
	if n := measured.Load(); n != 0 {
		t.Errorf("measured %d times while its owner is at work", n)
	}
	if err := os.WriteFile(owner, []byte("free"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("the pool knows its speed", func() bool { return s.speed("a") == 3 })
	s.stop()
	if list, err := pool.List(s.conf); err != nil || len(list) != 1 || list[0].Speed != 3 {
		t.Errorf("what is kept is %+v, %v", list, err)
	}
}
