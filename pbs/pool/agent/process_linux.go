package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"gbroker/pbs/cgroup"
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
	runs    bool // the program was started
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

// part takes the supervisor out of the group of its program, and suspends that if it is to be by now.
func (p *linuxProcess) part() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = true
	if p.group != "" {
		err = cgroup.Set(p.home, cgroup.Processes, strconv.Itoa(p.supervisor.Pid))
		p.apart = err == nil
	}
	if p.stopped {
		err = errors.Join(err, p.obey())
	}
	return err
}

// obey stops the program, or lets it go on, as it is to be; p.mu is held.
func (p *linuxProcess) obey() error {
	word := supervise.Resume // its clock stands too
	if p.stopped {
		word = supervise.Suspend
	}
	if err := p.supervisor.Signal(word); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.freeze()
}

// freeze stops the group, or lets it go on, as it is to be; p.mu is held.
func (p *linuxProcess) freeze() error {
	if !p.apart {
		return nil
	}
	err := p.group.freeze(p.stopped)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) { // it has ended
		return nil
	}
	return err
}

func (p *linuxProcess) reap() {
	p.supervisor.Wait()
	p.starved = p.group != "" && cgroup.OutOfMemory(string(p.group))
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
	token, taken, err1 := control.ReadToken(p.folder.ctl(), at)
	run, ran, err2 := control.ReadRun(p.folder.ctl(), at)
	asked, err3 := control.KillAsked(p.folder.ctl(), at)
	switch err := errors.Join(err1, err2, err3); {
	case err != nil:
		return Outcome{}, err
	case asked && !ran && (!taken || token.Inferred): // the wish itself seems to be a trace of it
		return Outcome{End: line.End{Cause: line.ByRequest, Detail: "ended before its program was started"}, At: control.Now()}, nil
	case !taken:
		return Outcome{End: line.End{Cause: line.NeverRan, Detail: "its supervisor ended before it began"}, At: control.Now()}, nil
	}
	if o, err := outcome(p.folder, at); err != nil || o.Cause != line.Killed {
		return o, err
	}
	sweep.Marked(supervise.RunMark(p.folder.ctl(), at), run.Leader, true)
	return outcome(p.folder, at)
}

// Suspend tells the supervisor nothing before the program runs: a signal would end a process that has just been made.
func (p *linuxProcess) Suspend(stop bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = stop
	if !p.runs {
		return nil
	}
	return p.obey()
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
