package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/pbs/slurm/slurmtest"
)

// patience bounds what takes a second on an idle machine.
const patience = 2 * time.Minute

// site is a batch system with a whole broker beside it, which knows no other: what it
// tells of starts is what every daemon would tell.
type site struct {
	cluster
	slurm  *slurmtest.Cluster // nil: another batch system, which was there before
	client *api.Client
	config daemon.Config
	stop   context.CancelFunc
	ended  chan error
}

// open starts both.
func open(ctx context.Context, dir string, c cluster) (*site, error) {
	slurm, err := slurmtest.Open(ctx, c.name, slurmtest.Config{Nodes: []slurmtest.Nodes{{Count: c.nodes, CPUs: c.cores}}})
	if err != nil {
		return nil, err
	}
	sbatch, err := exec.LookPath("sbatch")
	if err != nil {
		return nil, err
	}
	s, err := beside(ctx, dir, c.name, daemon.Found{System: daemon.Slurm, Commands: filepath.Dir(sbatch), Environment: slurm.Environment()})
	if s != nil {
		s.cluster, s.slurm = c, slurm
	}
	return s, err
}

// beside starts a broker beside a batch system; its nodes see dir.
func beside(ctx context.Context, dir, name string, found daemon.Found) (*site, error) {
	config, err := daemon.Init(daemon.InitOptions{
		Dir: filepath.Join(dir, name), Site: grid.SiteName(name), Speed: 1, Listen: "/ip4/127.0.0.1/tcp/0", Found: found,
	})
	if err != nil {
		return nil, err
	}
	log, err := logger(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.ClientConfig{Address: "unix://" + config.Socket, Resend: patience})
	if err != nil {
		return nil, err
	}
	own, stop := context.WithCancel(ctx)
	s := &site{cluster: cluster{name: name}, client: client, config: config, stop: stop, ended: make(chan error, 1)}
	go func() { s.ended <- daemon.Run(own, config, log, zap.NewAtomicLevel()) }()
	return s, s.awaitBroker(ctx)
}

func logger(path string) (*zap.Logger, error) {
	c := zap.NewProductionConfig()
	c.OutputPaths, c.ErrorOutputPaths = []string{path}, []string{path}
	return c.Build()
}

func (s *site) awaitBroker(ctx context.Context) error {
	return until(ctx, "the broker of "+s.name+" serves", func() (bool, error) {
		select {
		case err := <-s.ended:
			s.ended <- err
			return false, fmt.Errorf("the broker of %s ended: %w", s.name, err)
		default:
		}
		_, err := s.client.Self(ctx)
		return err == nil, nil
	})
}

// close ends the broker; slurmtest.Close ends the cluster.
func (s *site) close() error {
	s.client.Close()
	s.stop()
	return <-s.ended
}

// until polls until something is so.
func until(ctx context.Context, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if is, err := so(); is || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
}

// said is what sbatch --test-only prints; times are in UTC.
var said = regexp.MustCompile(`Job \d+ to start at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d) using`)

func parseTestOnly(text string) (time.Time, error) {
	found := said.FindStringSubmatch(text)
	if found == nil {
		return time.Time{}, fmt.Errorf("sbatch --test-only tells no start: %.500q", text)
	}
	return time.Parse("2006-01-02T15:04:05", found[1])
}

// testOnly is when Slurm says that the job would start, asked for as the driver will
// submit it.
func (s *site) testOnly(j job) (time.Time, error) {
	args := []string{
		"--test-only", "--time=" + strconv.Itoa(j.minutes), "--ntasks=" + strconv.Itoa(j.cores), "--cpus-per-task=1",
		"--wrap=true",
	}
	text, err := s.slurm.Do("sbatch", args...)
	if err != nil {
		return time.Time{}, err
	}
	return parseTestOnly(text)
}

const document = `<?xml version="1.0" encoding="UTF-8"?>
<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:posix="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix">
  <JobDescription>
    <JobIdentification><JobName>%s</JobName></JobIdentification>
    <Application>
      <posix:POSIXApplication>
        <posix:Executable>/bin/sleep</posix:Executable>
        <posix:Argument>%.1f</posix:Argument>
        <posix:WallTimeLimit>%d</posix:WallTimeLimit>
      </posix:POSIXApplication>
    </Application>
    <Resources><TotalCPUCount><Exact>%d</Exact></TotalCPUCount></Resources>
  </JobDescription>
</JobDefinition>
`

// submit hands the job to the broker, as a user would.
func (s *site) submit(ctx context.Context, j job) (grid.JobID, error) {
	a, err := s.client.Submit(ctx, s.submission(j))
	return a.ID, err
}

func (s *site) submission(j job) api.Submission {
	return api.Submission{
		Key: rand.Text(), Name: j.application,
		Document: fmt.Sprintf(document, j.application, j.run.Seconds(), j.minutes*60, j.cores),
	}
}

// outcome waits for the end of a job.
func (s *site) outcome(ctx context.Context, id grid.JobID) (api.Status, error) {
	status, err := s.client.Job(ctx, id)
	for err == nil && !status.Terminal() {
		status, err = s.client.Wait(ctx, id, status.State)
	}
	if err == nil && status.State != grid.Completed.String() {
		err = fmt.Errorf("the job ended as %s: %s", status.State, status.Reason)
	}
	return status, err
}

// load is how busy the machine is: the mean number of processes that want to run.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
