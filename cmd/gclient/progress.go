package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"gbroker/internal/cli"
)

// progress tells on a terminal how far a transfer has come, once it takes more
// than a second. Bytes are written to it.
type progress struct {
	w           io.Writer // nil: say nothing
	what        string
	done, total int64
	start, last time.Time
	shown       bool
}

func newProgress(w io.Writer, what string, total int64) *progress {
	p := &progress{what: what, total: total, start: time.Now()}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

func (p *progress) Write(b []byte) (int, error) {
	p.done += int64(len(b))
	if p.w == nil {
		return len(b), nil
	}
	now := time.Now()
	if elapsed := now.Sub(p.start); elapsed > time.Second && now.Sub(p.last) > 200*time.Millisecond {
		p.last, p.shown = now, true
		percent := int64(100)
		if p.total > 0 {
			percent = min(100, p.done*100/p.total)
		}
		fmt.Fprintf(p.w, "\r%s: %s of %s, %d%%, %s  ", p.what, cli.Size(p.done), cli.Size(p.total), percent,
			rate(float64(p.done)/elapsed.Seconds(), true))
	}
	return len(b), nil
}

func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
