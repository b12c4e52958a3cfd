package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/embedded/sweep"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// linuxProcess is a supervisor with its program.
type linuxProcess struct {
	folder     Folder
	job        Job
	supervisor *os.Process
	status     *os.File
	began      chan struct{}
	ended      chan struct{}
	log        *zap.Logger
	idle       bool // it has only the time that nobody else wants

	group   group  // of the program; "" is none
	home    string // the control group of this process
	starved bool   // the kernel killed in the group for want of memory; known once it has ended
	mu      sync.Mutex
	apart   bool // the supervisor is out of the group
	stopped bool
}

// listen waits for the word that the program runs.
func (p *linuxProcess) listen() {
	defer p.status.Close()
	if n, _ := p.status.Read(make([]byte, 1)); n > 0 {
		if err := p.part(); err != nil {
			p.log.Warn("a job's control group cannot be frozen", zap.String("folder", string(p.folder)), zap.Error(err))
		}
		if err := p.Yield(); err != nil {
			p.log.Warn("a job may stand in the owner's way", zap.String("folder", string(p.folder)), zap.Error(err))
		}
		close(p.began)
	}
}

// part takes the supervisor out of the group of its program, which is frozen from now on while it is suspended.
func (p *linuxProcess) part() error {
	if p.group == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	err := supervise.SetGroup(p.home, groupProcesses, strconv.Itoa(p.supervisor.Pid))
	if err != nil {
		return err
	}
	p.apart = true
	return p.freeze()
}

// freeze stops the group, or lets it go on, as it is to be; p.mu is held.
func (p *linuxProcess) freeze() error {
	if !p.apart {
		return nil
	}
	if err := p.group.freeze(p.stopped); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

func (p *linuxProcess) reap() {
	p.supervisor.Wait()
	p.starved = p.group != "" && supervise.OutOfMemory(string(p.group))
	if err := p.group.clear(); err != nil {
		p.log.Error("something of a job is left", zap.String("folder", string(p.folder)), zap.Error(err))
	}
	close(p.ended)
}

func (p *linuxProcess) Began() <-chan struct{} { return p.began }

func (p *linuxProcess) Wait(ctx context.Context) (Outcome, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	}
	o, err := p.ending()
	if p.starved && err == nil {
		o.Cause, o.Detail = line.Killed, fmt.Sprintf("it was killed for it took more than the %d bytes of memory that it has on its computer", p.job.Room)
	}
	return o, err
}

// ending tells how the program ended, whose supervisor has.
func (p *linuxProcess) ending() (Outcome, error) {
	at := p.job.ID()
	_, taken, err := control.ReadToken(p.folder.ctl(), at)
	switch {
	case err != nil:
		return Outcome{}, err
	case !taken:
		return Outcome{End: line.End{Cause: line.NeverRan, Detail: "its supervisor ended before it began"}, At: control.Now()}, nil
	}
	run, _, err := control.ReadRun(p.folder.ctl(), at)
	if err != nil {
		return Outcome{}, err
	}
	if o, err := outcome(p.folder, at); err != nil || o.Cause != line.Killed {
		return o, err
	}
	sweep.Attempt(at, run.Leader, true)
	return outcome(p.folder, at)
}

func (p *linuxProcess) Suspend(stop bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = stop
	word := supervise.Resume // its clock stands too
	if stop {
		word = supervise.Suspend
	}
	if err := p.supervisor.Signal(word); err != nil {
		return err
	}
	return p.freeze()
}

func (p *linuxProcess) Kill() error {
	if err := control.AskKill(p.folder.ctl(), p.job.ID()); err != nil {
		return err
	}
	return p.Abandon()
}

func (p *linuxProcess) Abandon() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = false // it may say its last word
	thawed := p.freeze()
	if err := p.supervisor.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return errors.Join(thawed, err)
	}
	return thawed
}
