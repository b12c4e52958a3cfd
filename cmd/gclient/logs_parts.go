package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// all prints what a job writes as it does: of one over several sites what each of its parts does, by whole lines, each
// behind the name of its site.
func (l *reader) all(ctx context.Context) error {
	several, err := l.several(ctx)
	if err != nil || !several {
		if interrupted(ctx, err) {
			return nil
		}
		return l.single(ctx, err)
	}
	f := follower{reader: l, has: map[grid.JobID]bool{}}
	alone, err := f.parts(ctx)
	f.left.Wait()
	if err != nil || !alone {
		return err
	}
	return l.run(ctx)
}

// single is run, where the job could be asked about.
func (l *reader) single(ctx context.Context, err error) error {
	if err != nil && !api.Interrupted(err) {
		return err
	}
	return l.run(ctx)
}

// several tells whether a job has parts, or is to have.
func (l *reader) several(ctx context.Context) (bool, error) {
	x, err := l.client.Explain(ctx, l.id)
	return err == nil && x.Allocation != nil && x.Allocation.State != grid.OneSite.String(), err
}

// follower follows the parts of a job over several sites, those of later rounds too.
type follower struct {
	*reader
	has  map[grid.JobID]bool
	left sync.WaitGroup
	mu   sync.Mutex // over what is printed
}

// parts follows them until the job has ended, or one site alone has it.
func (f *follower) parts(ctx context.Context) (alone bool, err error) {
	for heard := time.Now(); ; {
		s, err := f.client.Job(ctx, f.id)
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err != nil && (!api.Interrupted(err) || time.Since(heard) > patience):
			return false, err
		case err == nil:
			heard = time.Now()
			f.begin(ctx, &s)
			if text := fmt.Sprintf("job %s is %s; the output of its parts follows when they have started", f.id, s.State); len(f.has) == 0 && !s.Terminal() {
				f.word(text)
			}
			if s.Terminal() {
				f.word(fmt.Sprintf("job %s is %s", f.id, s.State))
				return false, nil
			}
			if several, err := f.several(ctx); err == nil && !several {
				return true, nil
			}
		}
		pause(ctx, time.Second)
	}
}

// begin follows the parts that are new.
func (f *follower) begin(ctx context.Context, s *api.Status) {
	for _, p := range s.Parts {
		if p.Job == "" || f.has[p.Job] {
			continue
		}
		f.has[p.Job] = true
		f.word(fmt.Sprintf("its part %s is at %s", p.Job, p.Site))
		lines := &behind{name: printable(string(p.Site)), to: f.to, mu: &f.mu}
		part := &reader{cmd: f.cmd, to: lines, silent: true, client: f.client, id: p.Job, at: f.at, follow: true}
		f.left.Go(func() {
			err := part.run(ctx)
			lines.end()
			if err != nil && !errors.Is(err, grid.ErrNotFound) { // one that was given up may be gone
				f.word(err.Error())
			}
		})
	}
}

// word tells something on stderr, once.
func (f *follower) word(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text = printable(text); !f.silent && text != f.told {
		f.told = text
		f.cmd.PrintErrf("gclient: %s\n", text)
	}
}

// behind writes whole lines, each behind a name.
type behind struct {
	name string
	to   io.Writer
	mu   *sync.Mutex
	rest []byte
}

// longestLine is written in pieces beyond it.
const longestLine = 64 << 10

func (b *behind) Write(data []byte) (int, error) {
	b.rest = append(b.rest, data...)
	for {
		n := bytes.IndexByte(b.rest, '\n') + 1
		if n == 0 && len(b.rest) < longestLine {
			return len(data), nil
		}
		if n == 0 {
			n = len(b.rest)
		}
		if err := b.line(b.rest[:n]); err != nil {
			return 0, err
		}
		b.rest = append(b.rest[:0], b.rest[n:]...)
	}
}

// end writes the last line, if it has no end.
func (b *behind) end() {
	if len(b.rest) > 0 {
		_ = b.line(b.rest) // who cannot be written to has been told
	}
}

func (b *behind) line(text []byte) error {
	line := append([]byte(b.name+": "), bytes.TrimSuffix(text, []byte("\n"))...)
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.to.Write(append(line, '\n'))
	return err
}
