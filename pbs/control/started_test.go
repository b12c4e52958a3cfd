package control

import (
	"reflect"
	"testing"

	"gbroker/grid"
)

// What is read of an attempt that has started: its run, and once it has ended how, when and with what usage. One that
// ended without having run has no start.
func TestReadStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run   *Run
		usage *grid.Usage
		end   *End
		want  grid.Progress
	}{
		"a token alone": {nil, nil, nil, grid.Progress{Phase: grid.Started, Started: 100}},
		"it runs":       {&Run{At: 120}, nil, nil, grid.Progress{Phase: grid.Started, Started: 120}},
		"it has ended": {
			&Run{At: 120}, &grid.Usage{CPU: 7, Memory: 8}, &End{At: 150, ExitCode: 3, Cause: grid.ByItself, Detail: "so"},
			grid.Progress{Phase: grid.Ended, Started: 120, Finished: 150, ExitCode: 3, Cause: grid.ByItself, Detail: "so", Usage: grid.Usage{CPU: 7, Memory: 8}},
		},
		"it never ran": {
			nil, nil, &End{At: 150, Cause: grid.NeverRan, Detail: "no such program"},
			grid.Progress{Phase: grid.Ended, Finished: 150, Cause: grid.NeverRan, Detail: "no such program"},
		},
	} {
		dir := t.TempDir()
		write := func(err error) {
			if err != nil {
				t.Fatal(name, err)
			}
		}
		if c.run != nil {
			write(WriteRun(dir, at, *c.run))
		}
		if c.usage != nil {
			write(WriteUsage(dir, at, *c.usage))
		}
		if c.end != nil {
			write(WriteEnd(dir, at, *c.end))
		}
		got, want := grid.Progress{ID: at}, c.want
		want.ID = at
		ended, err := ReadStarted(&got, dir, Token{At: 100})
		if ended != (c.end != nil) || err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %+v, %v; want %+v", name, ended, got, err, want)
		}
	}
}
