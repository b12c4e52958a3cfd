package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// hungry is a process that has as much in memory as is told of each look.
type hungry struct {
	Process
	takes  []int64
	killed time.Time
}

func (h *hungry) Yield() error { return nil }

func (h *hungry) Kill() error {
	h.killed = time.Now()
	return nil
}

func (h *hungry) Memory(int64) (now int64) {
	if now = h.takes[0]; len(h.takes) > 1 {
		h.takes = h.takes[1:]
	}
	return now
}

// A job over its disk is ended at the first look; one over its memory when three looks in a row see that.
func TestWhenAJobIsEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		disk  int64
		takes []int64
		looks time.Duration // 0: it goes on
	}{
		"nothing":         {10, []int64{100}, 0},
		"disk":            {11, []int64{100}, 1},
		"disk and memory": {11, []int64{101}, 1},
		"memory":          {10, []int64{101}, 3},
		"for a moment":    {10, []int64{101, 101, 100, 101, 101, 101}, 6},
		"twice":           {10, []int64{101, 101, 100}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &Agent{config: Config{Look: time.Second, Disk: 10}, log: zap.NewNop()}
			j := &job{Job: Job{Assignment: line.Assignment{Room: 100}}, agent: a, folder: Folder(t.TempDir())}
			files(t, j.folder.work(), map[string]string{"out": string(make([]byte, c.disk))})
			p, begun := &hungry{takes: c.takes}, time.Now()
			ctx, over := context.WithTimeout(t.Context(), 20*time.Second)
			defer over()
			j.tend(ctx, p)
			if c.looks == 0 != p.killed.IsZero() || c.looks > 0 && p.killed.Sub(begun) != c.looks*time.Second {
				t.Errorf("%s: it is ended %v after it began", name, p.killed.Sub(begun))
			}
		})
	}
}
