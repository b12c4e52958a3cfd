package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// progress tells a person at a terminal how far long work is.
type progress struct {
	w     io.Writer
	all   int
	unit  string // what is counted
	next  time.Time
	shown bool
}

// often is how often progress is shown.
const often = 500 * time.Millisecond

// newProgress shows progress on w if that is a terminal.
func newProgress(w io.Writer, all int) *progress {
	p := &progress{all: all, unit: "jobs", next: time.Now().Add(often)}
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		p.w = w
	}
	return p
}

func (p *progress) at(came int) {
	if now := time.Now(); p.w != nil && now.After(p.next) {
		p.next, p.shown = now.Add(often), true
		fmt.Fprintf(p.w, "\r%d of %d %s ", came, p.all, p.unit)
	}
}

// done wipes the line.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
