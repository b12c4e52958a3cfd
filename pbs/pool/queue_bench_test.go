package pool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
)

// queued is a pool whose computers are full, with a queue of seven users' jobs.
func queued(t testing.TB, computers, jobs int, deadline grid.Tick) *System {
	facts := map[string]line.Computer{}
	for i := range computers {
		facts[fmt.Sprintf("c%04d", i)] = line.Computer{Cores: 4, Speed: 0.5 + float64(i%10)/10, System: "linux"}
	}
	s := quiet(t, grid.Site{Speed: 1}, facts)
	entryOf := func(i int) *entry {
		r := record{Demand: single, Walltime: grid.Hour + grid.Tick(i), Arrived: control.Now(), Sequence: uint64(i)}
		r.Assignment = line.Assignment{Job: fmt.Sprintf("p.%d", i), Number: 1, Limit: int64(2 * grid.Hour), Owner: fmt.Sprintf("u%d@p", i%7)}
		return newEntry(r)
	}
	for i, c := range s.sorted() {
		for k := range 4 {
			e := entryOf(i*7*4 + 7*k)
			e.stint = "run"
			s.known[e.id], s.byTag[e.tag] = e, e
			s.give(e, c)
		}
	}
	for i := range jobs {
		e := entryOf(1_000_000 + i)
		if deadline != 0 {
			e.Deadline = control.Now() + deadline + grid.Tick(i)*grid.Second
		}
		s.known[e.id], s.byTag[e.tag] = e, e
		s.queue = append(s.queue, e)
	}
	return s
}

// handed is a job of an hour as a broker hands it in.
func handed(t testing.TB, deadline grid.Tick) grid.Submission {
	t.Helper()
	id := grid.NewJobID("p", fmt.Sprintf("%026d", time.Now().UnixNano()))
	dir := t.TempDir()
	j := grid.Submission{
		ID: grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1}, Attempt: 1}, Limit: grid.Hour, Expected: grid.Hour, Work: filepath.Join(dir, "w"), Control: filepath.Join(dir, "c"),
	}
	for _, d := range []string{j.Work, j.Control} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	j.Job = grid.Job{ID: id, User: grid.User{Name: "anna"}, Program: grid.Program{Executable: "/bin/true"}, Demand: single, Walltime: grid.Hour}
	if deadline != 0 {
		j.Job.Terms.Deadline = control.Now() + deadline
	}
	return j
}

// A full pool looks for what can start, and tells its broker when the rest will.
func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, deadline := range []grid.Tick{0, 10 * grid.Hour} {
			s := queued(b, n, 20*n, deadline)
			for what, do := range map[string]func() error{
				"pass": func() error { s.pass(); return nil },
				"look": func() error { _, err := s.Snapshot(b.Context()); return err },
				"submit": func() error {
					_, err := s.Submit(b.Context(), handed(b, deadline))
					if errors.Is(err, grid.ErrInvalid) || errors.Is(err, grid.ErrUnavailable) {
						return nil // it is too late, which is told as fast
					}
					return err
				},
			} {
				b.Run(fmt.Sprintf("%d/dated=%v/%s", n, deadline != 0, what), func(b *testing.B) {
					for range b.N {
						if err := do(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
