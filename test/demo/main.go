// Command demo shows the main job from end to end: three sites on this machine's
// loopback, like those of the GBroker paper, a dozen jobs handed to them, where
// each of them went and why, and what it said. With -keep the sites stay up.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"gbroker/test/cluster"
)

func main() {
	keep := flag.Bool("keep", false, "leave the sites up, and say how to reach and stop them")
	bin := flag.String("bin", "", "folder of the built programs; left out, they are built for the occasion")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo is three sites and what was handed to them.
type demo struct {
	dir   string
	jobs  string
	sites []*cluster.Site
	desks *desktops // nil until there is a pool
}

func run(ctx context.Context, bin string, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "gbroker-demo-")
	if err != nil {
		return err
	}
	programs, err := findPrograms(ctx, bin, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	d := &demo{dir: dir, jobs: filepath.Join(dir, "jobs")}
	defer func() {
		if keep && err == nil {
			return
		}
		err = errors.Join(err, d.end())
	}()
	start := time.Now()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.begin(ctx, programs, keep); err != nil {
		return err
	}
	if err := d.show(ctx); err != nil {
		return err
	}
	p, err := d.pool(ctx, programs, keep)
	if err != nil {
		return err
	}
	if err := d.share(ctx, p); err != nil {
		return err
	}
	fmt.Printf("\nAll of it took %.0f s.\n", time.Since(start).Seconds())
	if keep {
		d.farewell()
	}
	return nil
}

func findPrograms(ctx context.Context, bin, dir string) (cluster.Programs, error) {
	if bin == "" {
		return cluster.Build(ctx, ".", filepath.Join(dir, "bin"))
	}
	bin, err := filepath.Abs(bin)
	return cluster.In(bin), err
}

// prepare lays out the jobs and makes their large input and their compiled program.
func (d *demo) prepare(ctx context.Context) error {
	if err := os.CopyFS(d.jobs, os.DirFS("test/demo/jobs")); err != nil {
		return fmt.Errorf("laying out the jobs: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(d.jobs, "nbody.bin"), "./test/demo/nbody")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling nbody: %w\n%s", err, out)
	}
	data := make([]byte, 8<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	if err := os.WriteFile(filepath.Join(d.jobs, "data.bin"), data, 0o644); err != nil {
		return err
	}
	say("The jobs", "copied from test/demo/jobs to "+d.jobs)
	fmt.Println("  made now, beside them:\n    nbody.bin   a program, compiled from test/demo/nbody\n    data.bin    8 MiB to be checksummed")
	return nil
}

// begin makes the three sites of the paper, starts them and makes them neighbours.
func (d *demo) begin(ctx context.Context, p cluster.Programs, detached bool) error {
	say("Three sites", "like those of the GBroker paper, each with its own daemon, batch system and folder")
	for _, s := range []struct {
		name         string
		nodes, cores int
	}{{"xeon16", 4, 4}, {"xeon32", 4, 8}, {"xeon80", 10, 8}} {
		site, err := cluster.Init(ctx, p, d.dir, s.name, cluster.Options{Nodes: s.nodes, Cores: s.cores})
		if err != nil {
			return err
		}
		site.Detached = detached
		d.sites = append(d.sites, site)
		if err := site.Start(ctx); err != nil {
			return err
		}
		fmt.Printf("  %s: %2d nodes x %d cores, %s\n", s.name, s.nodes, s.cores, site.Address())
	}
	if err := cluster.Mesh(ctx, d.sites...); err != nil {
		return err
	}
	for _, s := range d.sites {
		if err := s.Sees(ctx, 30*time.Second, d.others(s)...); err != nil {
			return err
		}
	}
	for _, s := range d.sites {
		if err := s.Measured(ctx, 30*time.Second, 1<<10, d.others(s)...); err != nil {
			return err
		}
	}
	r := d.sites[2].Client(ctx, "sites")
	fmt.Printf("\n$ gclient sites        (asked at xeon80)\n%s", indent(r.Stdout))
	return nil
}

func (d *demo) others(s *cluster.Site) []string {
	var names []string
	for _, o := range d.sites {
		if o != s {
			names = append(names, o.Name)
		}
	}
	return names
}

// errand is one job of the demo and how it should end.
type errand struct {
	at     int // site it is handed to
	file   string
	state  string
	exit   int
	cancel bool
	parts  int // at how many sites at once; 0 is one alone
	id     string
	ended  cluster.Status
}

func (d *demo) show(ctx context.Context) error {
	errands := []*errand{
		{at: 0, file: "fill", state: "COMPLETED"},
		{at: 0, file: "integral16", state: "COMPLETED"},
		{at: 0, file: "integral64", state: "COMPLETED"},
		{at: 2, file: "pi", state: "COMPLETED"},
		{at: 2, file: "primes", state: "COMPLETED"},
		{at: 2, file: "words", state: "COMPLETED"},
		{at: 0, file: "nbody", state: "COMPLETED"},
		{at: 0, file: "checksum", state: "COMPLETED"},
		{at: 1, file: "where", state: "COMPLETED"},
		{at: 2, file: "fails", state: "COMPLETED", exit: 3},
		{at: 1, file: "absent", state: "FAILED"},
		{at: 2, file: "overruns", state: "CANCELLED_WALLTIME"},
		{at: 0, file: "patience", state: "KILLED", cancel: true},
	}
	wide := []*errand{{at: 0, file: "wide", state: "COMPLETED", parts: 2}}
	say("A baker's dozen of jobs", "handed to the three brokers, one after another")
	if err := d.see(ctx, errands); err != nil {
		return err
	}
	if err := d.explain(ctx, errands[1:3]); err != nil {
		return err
	}
	say("A job of 100 processes", "which no site has: nodes of two are reserved for one interval, and its parts begin together")
	if err := d.see(ctx, wide); err != nil {
		return err
	}
	return d.explain(ctx, wide)
}

// see hands jobs in, waits for their ends, and fetches what they wrote.
func (d *demo) see(ctx context.Context, errands []*errand) error {
	for _, e := range errands {
		if err := d.submit(ctx, e); err != nil {
			return err
		}
	}
	say("Ended", "each user's broker brings the output home")
	if err := d.await(ctx, errands); err != nil {
		return err
	}
	return d.outputs(ctx, errands)
}

func (d *demo) submit(ctx context.Context, e *errand) error {
	site := d.sites[e.at]
	r := site.Client(ctx, "submit", filepath.Join(d.jobs, e.file+".jsdl"))
	if r.Code != 0 {
		return fmt.Errorf("submitting %s at %s: exit code %d: %s", e.file, site.Name, r.Code, r.Stderr)
	}
	e.id = strings.TrimSpace(r.Stdout)
	fmt.Printf("  %s$ gclient submit %-16s %s\n", site.Name, e.file+".jsdl", e.id)
	return nil
}

// await cancels the jobs that are to be cancelled, waits for all, and compares.
func (d *demo) await(ctx context.Context, errands []*errand) error {
	var group sync.WaitGroup
	errs := make([]error, len(errands))
	for i, e := range errands {
		group.Go(func() { errs[i] = d.awaitOne(ctx, e) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("  %-16s %5s  %-8s %-8s %-19s %4s  %s\n", "JOB", "PROCS", "HANDED", "OWNER", "STATE", "EXIT", "START, LATER THAN PREDICTED")
	for _, e := range errands {
		exit := "-"
		if e.ended.Exit != nil {
			exit = fmt.Sprint(*e.ended.Exit)
		}
		fmt.Printf("  %-16s %5d  %-8s %-8s %-19s %4s  %s\n", e.file, e.ended.Processes, d.sites[e.at].Name, e.ended.Owner, e.ended.State, exit, starts(e))
	}
	return nil
}

func (d *demo) awaitOne(ctx context.Context, e *errand) error {
	site := d.sites[e.at]
	if e.cancel {
		if r := site.Client(ctx, "cancel", e.id); r.Code != 0 {
			return fmt.Errorf("cancelling %s: exit code %d: %s", e.file, r.Code, r.Stderr)
		}
	}
	site.Client(ctx, "wait", e.id)
	st, err := site.Status(ctx, e.id)
	if err != nil {
		return err
	}
	e.ended = st
	if e.ended.State != e.state {
		return fmt.Errorf("%s ended %s (%s), and should have ended %s", e.file, e.ended.State, e.ended.Reason, e.state)
	}
	if e.state == "COMPLETED" && (e.ended.Exit == nil || *e.ended.Exit != e.exit) {
		return fmt.Errorf("%s ended with the wrong exit code, not %d", e.file, e.exit)
	}
	return nil
}

func starts(e *errand) string {
	if e.ended.Predicted == nil {
		return e.ended.Reason
	}
	if e.ended.Started == nil {
		return "never started: " + e.ended.Reason
	}
	said, err1 := time.Parse(time.RFC3339Nano, *e.ended.Predicted)
	really, err2 := time.Parse(time.RFC3339Nano, *e.ended.Started)
	if err1 != nil || err2 != nil {
		return "?"
	}
	return fmt.Sprintf("error %+.2f s", really.Sub(said).Seconds())
}

// end stops the daemons and looks that nothing is left.
func (d *demo) end() error {
	var errs []error
	if d.desks != nil {
		errs = append(errs, d.desks.end())
	}
	for _, s := range d.sites {
		errs = append(errs, s.Stop())
	}
	for _, s := range d.sites {
		if n := s.EndJobs(); n > 0 {
			errs = append(errs, fmt.Errorf("%d jobs were left running at %s", n, s.Name))
		}
	}
	if left := cluster.Leftovers(d.dir); len(left) > 0 {
		errs = append(errs, fmt.Errorf("processes were left behind: %v", left))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nthe folders are kept in %s", err, d.dir)
	}
	return os.RemoveAll(d.dir)
}

func (d *demo) farewell() {
	say("The sites stay up", "their folders are in "+d.dir)
	var pids []string
	for _, s := range d.sites {
		fmt.Printf("  %s: export GBROKER=%s\n", s.Name, s.Address())
		pids = append(pids, fmt.Sprint(s.PID()))
	}
	fmt.Printf("  %s: export GBROKER=%s\n", d.desks.Name, d.desks.Address())
	pids = append(pids, fmt.Sprint(d.desks.PID()))
	for _, a := range d.desks.agents {
		pids = append(pids, fmt.Sprint(a.Process.Pid))
	}
	fmt.Printf("  stop them: kill %s\n  then:      rm -r %s\n", strings.Join(pids, " "), d.dir)
}

func say(title, more string) {
	fmt.Printf("\n== %s", title)
	if more != "" {
		fmt.Printf(": %s", more)
	}
	fmt.Println()
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ") + "\n"
}

func where(e *errand) string {
	if e.parts > 0 {
		return fmt.Sprintf("to %d sites at once", e.parts)
	}
	return "to " + e.ended.Owner
}
