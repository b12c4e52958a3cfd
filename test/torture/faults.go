package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
)

// torment does what the script says, the kinds side by side, and heals all at its
// end. It counts what it did.
type torment struct {
	run *run

	mu       sync.Mutex
	done     map[faultKind]int
	findings []string
}

func (t *torment) play(ctx context.Context, script map[faultKind][]fault) {
	var all sync.WaitGroup
	for _, kind := range faultKinds {
		if !t.run.isolated && (kind == cut || kind == fill) {
			continue
		}
		all.Go(func() {
			for _, f := range script[kind] {
				if !pause(ctx, f.Gap) {
					return
				}
				t.log(f)
				if err := t.inflict(ctx, f); err != nil {
					t.find("%s: %v", f, err)
				}
			}
		})
	}
	all.Wait()
}

func (t *torment) log(f fault) {
	t.mu.Lock()
	t.done[f.Kind]++
	t.mu.Unlock()
	t.run.note("%s", f)
}

func (t *torment) find(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.findings = append(t.findings, fmt.Sprintf(format, args...))
}

// inflict does one fault and undoes it; also when ctx is done meanwhile.
func (t *torment) inflict(ctx context.Context, f fault) error {
	s := t.run.sites[f.Site]
	switch f.Kind {
	case kill:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Kill()
		pause(ctx, f.Hold)
		if ctx.Err() != nil {
			return nil
		}
		return s.restart(ctx)
	case halt:
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.Running() {
			return nil // it has fallen by itself; that is noted
		}
		if err := s.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		pause(ctx, f.Hold)
		return s.Signal(syscall.SIGCONT)
	case cut:
		t.cut(f.Site, f.Other, f.How)
		pause(ctx, f.Hold)
		t.cut(f.Site, f.Other, whole)
		return nil
	default:
		if err := s.disk.fill(f.Left); err != nil {
			return err
		}
		pause(ctx, f.Hold)
		return s.disk.empty()
	}
}

// cut sets the ways between two sites, or all of one (other is -1).
func (t *torment) cut(site, other int, how severity) {
	for ends, w := range t.run.ways {
		mine := ends[0] == site || ends[1] == site
		theirs := other < 0 || ends[0] == other || ends[1] == other
		if mine && theirs {
			w.set(how)
		}
	}
}
