package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// passage passes on what a command prints, to somebody who may be slow to take it: a disk, or a peer. Package os/exec would
// throw away what he has not taken a while after the command's end.
type passage struct {
	in, out *os.File
	state   atomic.Int32
	done    chan error
}

// States of a command that prints.
const (
	printing = iota
	ended    // children of it may still have the pipe, and are waited for a while
	left     // it goes on, and nobody listens
)

// runTo runs a command whose standard output goes to to; nil leaves that where it goes already.
func runTo(timed context.Context, cmd *exec.Cmd, to io.Writer) (over bool, err error) {
	if to == nil {
		return run(timed, cmd)
	}
	p := &passage{done: make(chan error, 1)}
	if p.out, p.in, err = os.Pipe(); err != nil {
		return true, err
	}
	cmd.Stdout = p.in
	go func() { p.done <- p.pass(to) }()
	over, err = run(timed, cmd)
	if bad := p.end(over); bad != nil && (err == nil || errors.Is(err, exec.ErrWaitDelay)) {
		err = bad
	}
	return over, err
}

// pass passes on what comes, until all has, or nothing more does in time.
func (p *passage) pass(to io.Writer) error {
	defer p.out.Close()
	buffer := make([]byte, 32<<10)
	for {
		switch p.state.Load() {
		case left:
			return nil
		case ended: // what it took to take the last piece does not count
			p.out.SetReadDeadline(time.Now().Add(lingering))
		}
		n, err := p.out.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// end waits until what a command has printed is taken; of one that is not over nothing more is.
func (p *passage) end(over bool) error {
	p.in.Close() // the command had one of its own
	state, until := int32(ended), time.Now().Add(lingering)
	if !over {
		state, until = left, time.Now()
	}
	p.state.Store(state)
	p.out.SetReadDeadline(until) // frees a read that has begun; where all is over already there is none
	return <-p.done
}
