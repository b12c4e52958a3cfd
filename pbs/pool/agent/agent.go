package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// Config is all that an agent needs to know.
type Config struct {
	Dir      string // its folder, absolute
	Computer line.Computer
	Disk     int64         // the most that one job may take of the disk, bytes; 0 is any
	Look     time.Duration // how often a job is looked at for limits; 0 is 1 s
	Patience time.Duration // the longest pause between two trials to reach the pool; 0 is 30 s
	Runner   Runner
	Owner    Owner // nil: nobody sits here
	// Measure measures the speed of a core, which is done again each Gauge (0 is 6 h) while nobody needs the computer; nil: never.
	Measure func() float64
	Gauge   time.Duration
	Logger  *zap.Logger
}

// Agent is one computer of a pool.
type Agent struct {
	config Config
	client *client
	name   string
	runner Runner
	owner  *watcher
	log    *zap.Logger

	news  chan struct{} // something is to be reported
	every atomic.Int64  // the interval of reports
	over  atomic.Bool
	lives sync.WaitGroup

	tenants      tenants
	registration string // by which the pool knows that it has what this agent said
	registered   bool   // by this process; of serve alone

	obeying sync.Mutex
	mu      sync.Mutex
	jobs    map[string]*job
	session string
	version uint64
	poll    time.Duration
}

// New opens an agent in a folder that has joined a pool.
func New(config Config) (*Agent, error) {
	if !filepath.IsAbs(config.Dir) {
		return nil, fmt.Errorf("the folder of the agent %q must be an absolute path", config.Dir)
	}
	if err := config.Computer.Check(); err != nil {
		return nil, fmt.Errorf("what this computer is: %w", err)
	}
	if config.Look == 0 {
		config.Look = time.Second
	}
	if config.Gauge == 0 {
		config.Gauge = gaugeEvery
	}
	if config.Patience == 0 {
		config.Patience = 30 * time.Second
	}
	if config.Logger == nil {
		config.Logger = zap.NewNop()
	}
	client, id, err := open(config.Dir)
	if err != nil {
		return nil, err
	}
	a := &Agent{
		config: config, client: client, name: id.Name(), runner: config.Runner, log: config.Logger,
		registration: line.Nonce(), news: make(chan struct{}, 1), jobs: map[string]*job{},
	}
	a.every.Store(int64(time.Second))
	a.owner = newWatcher(config.Owner)
	return a, os.MkdirAll(a.jobsFolder(), 0o711)
}

func (a *Agent) jobsFolder() string { return filepath.Join(a.config.Dir, "jobs") }

func (a *Agent) interval() time.Duration { return time.Duration(a.every.Load()) }

func (a *Agent) ending() bool { return a.over.Load() }

// kick asks for a report now.
func (a *Agent) kick() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// Run serves the pool until ctx is done, or this computer has left it, which is an error; so is another agent over the same folder. Then what runs is ended, and the pool is told.
func (a *Agent) Run(ctx context.Context) error {
	release, err := seize(a.config.Dir)
	if err != nil {
		return err
	}
	defer release()
	ctx, end := context.WithCancel(ctx)
	defer end()
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	a.resume(work)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		a.owner.run(ctx, a.ownerChanged)
	}()
	gauged := make(chan struct{})
	go func() { defer close(gauged); a.gauge(ctx) }()
	err = a.serve(ctx, work)
	end()
	a.over.Store(err == nil) // what it has here is of no more use to a computer that has left
	stop()
	a.lives.Wait()
	<-watched
	<-gauged
	a.leave(context.WithoutCancel(ctx))
	return err
}

// ownerChanged suspends all jobs, or lets them go on, and has the pool told.
func (a *Agent) ownerChanged(active bool) {
	for _, j := range a.held() {
		j.obey(active)
	}
	a.kick()
}

func (a *Agent) held() (list []*job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, j := range a.jobs {
		list = append(list, j)
	}
	return list
}

// resume takes up the jobs that lie in the folder.
func (a *Agent) resume(ctx context.Context) {
	names, err := os.ReadDir(a.jobsFolder())
	if err != nil {
		a.log.Error("the jobs of this computer cannot be listed", zap.Error(err))
		return
	}
	for _, n := range names {
		folder := Folder(filepath.Join(a.jobsFolder(), n.Name()))
		data, err := os.ReadFile(filepath.Join(string(folder), jobFile))
		var kept Job
		if err == nil {
			err = json.Unmarshal(data, &kept)
		}
		if id := kept.ID(); err != nil || id.Tag() != n.Name() {
			a.log.Warn("a folder is of no job, and is removed", zap.String("folder", string(folder)), zap.Error(err))
			os.RemoveAll(string(folder))
			continue
		}
		a.adopt(ctx, kept, folder)
	}
}

// adopt begins, or goes on with, the life of a job here.
func (a *Agent) adopt(ctx context.Context, what Job, folder Folder) {
	ctx, drop := context.WithCancel(ctx)
	j := &job{Job: what, tag: what.ID().Tag(), folder: folder, agent: a, drop: drop, done: make(chan struct{}), state: line.Fetching, given: map[string]stamp{}, killing: make(chan struct{})}
	if j.granted() {
		j.state = line.Running
	}
	a.mu.Lock()
	a.jobs[j.tag] = j
	a.mu.Unlock()
	a.log.Info("a job is here", zap.String("job", j.tag))
	a.kick()
	a.lives.Go(func() {
		defer drop()
		j.live(ctx)
	})
}

// discard removes a job from this computer.
func (a *Agent) discard(j *job) {
	a.log.Info("a job has gone", zap.String("job", j.tag))
	if err := os.RemoveAll(string(j.folder)); err != nil {
		a.log.Error("the folder of a job cannot be removed", zap.String("folder", string(j.folder)), zap.Error(err))
	}
	a.mu.Lock()
	if a.jobs[j.tag] == j {
		delete(a.jobs, j.tag)
	}
	a.mu.Unlock()
	a.kick()
}

// obey does what the pool orders. Orders that are older than others are nothing.
func (a *Agent) obey(ctx context.Context, session string, o line.Orders) {
	a.obeying.Lock() // two answers at once may order the same job
	defer a.obeying.Unlock()
	a.mu.Lock()
	if session != a.session || o.Version < a.version {
		a.mu.Unlock()
		return
	}
	a.version, a.poll = o.Version, time.Duration(o.Poll)*time.Millisecond
	wanted := map[string]bool{}
	var fresh []line.Assignment
	for _, order := range o.Jobs {
		wanted[order.Tag] = true
		j := a.jobs[order.Tag]
		switch {
		case j == nil && order.Assignment != nil && !order.Kill:
			fresh = append(fresh, *order.Assignment)
		case j != nil && order.Kill:
			go j.kill()
		}
	}
	for tag, j := range a.jobs {
		if !wanted[tag] {
			j.drop()
		}
	}
	a.mu.Unlock()
	if was := a.every.Swap(o.Interval * int64(time.Millisecond)); was != o.Interval*int64(time.Millisecond) {
		a.kick()
	}
	for _, as := range fresh {
		what := Job{Assignment: as, Stint: line.Nonce(), Node: a.name}
		j := job{Job: what, folder: Folder(filepath.Join(a.jobsFolder(), what.ID().Tag()))}
		if err := j.save(); err != nil {
			a.log.Error("a job cannot be taken", zap.Error(err))
			continue
		}
		a.adopt(ctx, what, j.folder)
	}
}
