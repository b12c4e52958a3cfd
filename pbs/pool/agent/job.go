package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// errRefuse tells that this computer will not have the job, and another may.
var errRefuse = errors.New("this computer will not have it")

// job is one that this computer holds.
type job struct {
	Job
	tag    string
	folder Folder
	agent  *Agent
	given  map[string]stamp // what lay in the sandbox when it began, and what was brought since
	drop   context.CancelFunc
	done   chan struct{}

	mu        sync.Mutex
	state     line.JobState
	process   Process
	killed    bool
	killing   chan struct{} // closed when the pool wants its end
	suspended bool
	clock     stopwatch
	over      error // the limit of the owner for which it was ended
}

// stopwatch measures how long a program runs, without suspensions.
type stopwatch struct {
	since time.Time
	ran   time.Duration
}

func (s *stopwatch) run(on bool) {
	switch {
	case on && s.since.IsZero():
		s.since = time.Now()
	case !on && !s.since.IsZero():
		s.ran += time.Since(s.since)
		s.since = time.Time{}
	}
}

func (s *stopwatch) read() time.Duration {
	if s.since.IsZero() {
		return s.ran
	}
	return s.ran + time.Since(s.since)
}

// report is what the pool is told.
func (j *job) report() line.Report {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := line.Report{Tag: j.tag, Stint: j.Stint, State: j.state, Wall: j.clock.read().Milliseconds()}
	if j.process != nil {
		r.CPU = int64(j.process.Used())
	}
	if r.State == line.Running && j.suspended {
		r.State = line.Suspended
	}
	return r
}

func (j *job) become(state line.JobState) {
	j.mu.Lock()
	j.state = state
	j.mu.Unlock()
}

const (
	jobFile     = "job.json"
	grantedFile = "granted"
)

// save keeps the assignment, before anything is done for it.
func (j *job) save() error {
	if err := os.MkdirAll(string(j.folder), 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(j.Job)
	if err != nil {
		return err
	}
	return line.WriteFile(filepath.Join(string(j.folder), jobFile), data)
}

// live is the life of a job at this computer, until it is not this computer's any more.
func (j *job) live(ctx context.Context) {
	defer close(j.done)
	err := j.agent.tenants.enter(ctx, j.Owner)
	if err == nil {
		defer j.agent.tenants.leave()
		err = j.pass(ctx)
	}
	if why := err; errors.Is(err, errRefuse) {
		err = j.insist(ctx, func() error {
			return j.agent.client.ask(ctx, talkLimit, jobPath(j.tag, "refuse"), line.Refused{Why: clip(why.Error())}, &struct{}{})
		})
	}
	if ctx.Err() != nil && j.agent.ending() {
		return // the next agent takes it up
	}
	if err != nil && ctx.Err() == nil {
		j.agent.log.Warn("a job is given up here", zap.String("tag", j.tag), zap.Error(err))
	}
	j.agent.discard(j)
}

func clip(text string) string { return text[:min(len(text), line.MaxDetail)] }

// pass takes the job through its states.
func (j *job) pass(ctx context.Context) error {
	o, started, err := j.agent.runner.Settle(j.folder, j.Job)
	if err != nil && !os.IsNotExist(err) && j.granted() {
		return fmt.Errorf("finding out what became of %s: %w", j.tag, err)
	}
	if !started {
		if o, err = j.work(ctx); err != nil {
			return err
		}
	}
	j.become(line.Returning)
	j.agent.kick()
	return j.back(ctx, o)
}

func (j *job) granted() bool {
	_, err := os.Stat(filepath.Join(string(j.folder), grantedFile))
	return err == nil
}

// work brings the inputs, asks for the start token, and runs the program to its end.
func (j *job) work(ctx context.Context) (o Outcome, err error) {
	if !j.granted() {
		if err := j.insist(ctx, func() error { return j.fetch(ctx) }); err != nil {
			return o, err
		}
		if err := j.agent.runner.Prepare(j.folder); err != nil {
			return o, fmt.Errorf("%w: %w", errRefuse, err)
		}
		if err := j.agent.owner.barred(); err != nil {
			return o, fmt.Errorf("%w: %w", errRefuse, err)
		}
		if err := j.ask(ctx); err != nil {
			return o, err
		}
	}
	p, err := j.agent.runner.Start(j.folder, j.Job)
	if err != nil {
		return Outcome{End: line.End{Cause: line.NeverRan, Detail: clip(err.Error())}, At: grid.InstantOf(time.Now())}, nil
	}
	return j.follow(ctx, p)
}

// ask asks for the start token, and keeps that it was given.
func (j *job) ask(ctx context.Context) error {
	var g line.Granted
	err := j.insist(ctx, func() error {
		return j.agent.client.ask(ctx, talkLimit, jobPath(j.tag, "start"), line.Start{Stint: j.Stint}, &g)
	})
	if err != nil {
		return err
	}
	if !g.Granted {
		return fmt.Errorf("%w: %s", errForbidden, g.Why)
	}
	return line.WriteFile(filepath.Join(string(j.folder), grantedFile), nil)
}

// follow watches over the program to its end.
func (j *job) follow(ctx context.Context, p Process) (Outcome, error) {
	j.mu.Lock()
	j.process, j.state = p, line.Running
	killed := j.killed
	j.clock.run(true)
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		j.clock.run(false)
		j.mu.Unlock()
	}()
	if killed {
		p.Kill()
	}
	j.obey(j.agent.owner.active())
	j.agent.kick()
	ended, over := context.WithCancel(ctx)
	defer over()
	var beside sync.WaitGroup
	beside.Go(func() { j.begin(ended, p) })
	beside.Go(func() { j.tend(ended, p) })
	beside.Go(func() { j.checkpoint(ended) })
	o, err := p.Wait(ctx)
	over()
	beside.Wait()                       // what they brought is known before the rest is brought
	if err != nil && ctx.Err() != nil { // dropped, or this agent ends
		p.Abandon()
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grid.Tick(j.Grace).Duration()+20*time.Second)
		defer cancel()
		p.Wait(patience)
		return o, ctx.Err()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over != nil && o.Cause == line.ByRequest {
		o.Cause, o.Detail = line.Killed, j.over.Error() // by its own fault: it is not started again elsewhere, to do the same
	}
	return o, err
}

// begin tells the pool that the program runs.
func (j *job) begin(ctx context.Context, p Process) {
	select {
	case <-p.Began():
	case <-ctx.Done():
		return
	}
	began := time.Now()
	j.insist(ctx, func() error {
		return j.agent.client.ask(ctx, talkLimit, jobPath(j.tag, "began"), line.Began{Stint: j.Stint, Ago: time.Since(began).Milliseconds()}, &struct{}{})
	})
}

// checkpoint brings checkpoints back while the program runs.
func (j *job) checkpoint(ctx context.Context) {
	for len(j.Checkpoint) > 0 {
		rest(ctx, j.agent.interval())
		if ctx.Err() != nil {
			return
		}
		if err := j.bring(ctx, string(j.Checkpoint), false); err != nil && ctx.Err() == nil {
			j.agent.log.Info("a checkpoint does not reach the pool", zap.String("tag", j.tag), zap.Error(err))
		}
	}
}

// end ends the program for a reason of this computer.
func (j *job) end(p Process, over error) {
	j.mu.Lock()
	j.over = over
	j.mu.Unlock()
	if err := p.Kill(); err != nil {
		j.agent.log.Warn("a job cannot be ended", zap.String("tag", j.tag), zap.Error(err))
	}
}

// obey suspends the program while the owner is at work, and lets it go on.
func (j *job) obey(active bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.process == nil || j.suspended == active {
		return
	}
	if err := j.process.Suspend(active); err != nil {
		j.agent.log.Warn("a job cannot be suspended", zap.String("tag", j.tag), zap.Error(err))
		return
	}
	j.suspended = active
	j.clock.run(!active)
}

// kill ends the program on the pool's order.
func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.killed {
		return
	}
	j.killed = true
	close(j.killing)
	if j.process != nil {
		if err := j.process.Kill(); err != nil {
			j.agent.log.Warn("a job cannot be ended", zap.String("tag", j.tag), zap.Error(err))
		}
	}
}

// back brings what the program left, and then its end.
func (j *job) back(ctx context.Context, o Outcome) error {
	if err := j.output(ctx, o); err != nil {
		switch {
		case ctx.Err() != nil:
			return err
		case errors.Is(err, errKilled):
			o.Cause, o.Detail = line.ByRequest, err.Error()
		case o.Cause == line.CutOff, o.Cause == line.Killed: // which tells why not all of it is there
			o.Detail += "; what it left is not brought: " + err.Error()
		default:
			o.Cause, o.Detail = line.Unbrought, err.Error()
		}
		o.ExitCode, o.Signal = 0, 0
	}
	return j.insist(ctx, func() error {
		now := grid.InstantOf(time.Now())
		end := o.End
		end.Stint, end.Ended, end.Detail = j.Stint, int64(max(now-o.At, 0)), clip(end.Detail)
		end.Began = end.Ended
		if o.On > 0 {
			end.Began = max(int64(now-o.On), end.Ended)
		}
		return j.agent.client.ask(ctx, talkLimit, jobPath(j.tag, "end"), end, &struct{}{})
	})
}

// errKilled tells of output that nobody waits for any more.
var errKilled = errors.New("its end was asked for while its output was brought back")

// output brings what the program left. A program that ended at the pool's wish is heard to the end; what came to its end otherwise is
// not waited for once the pool wants its end.
func (j *job) output(ctx context.Context, o Outcome) error {
	if o.Cause == line.NeverRan {
		return nil
	}
	bringing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if o.Cause != line.ByRequest {
		go func() {
			select {
			case <-j.killing:
				stop(errKilled)
			case <-bringing.Done():
			}
		}()
	}
	err := j.insist(bringing, func() error { return j.bring(bringing, "", true) })
	if err != nil && ctx.Err() == nil && bringing.Err() != nil {
		return context.Cause(bringing)
	}
	return err
}

// insist repeats what the network or the pool hinders.
func (j *job) insist(ctx context.Context, try func() error) error {
	pause := 100 * time.Millisecond
	for {
		err := try()
		if err == nil || errors.Is(err, errForbidden) || errors.Is(err, errRefuse) || errors.Is(err, errUnreadable) || ctx.Err() != nil {
			return err
		}
		j.agent.log.Info("trying again", zap.String("tag", j.tag), zap.Error(err))
		rest(ctx, pause)
		pause = min(2*pause, j.agent.config.Patience)
	}
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
