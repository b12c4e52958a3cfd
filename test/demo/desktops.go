package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gbroker/test/cluster"
)

// desktops are three computers that stay their owners', and the broker of their pool.
type desktops struct {
	*cluster.Site
	dir    string
	agents []*exec.Cmd
}

var desks = []string{"desk1", "desk2", "desk3"}

// owner is the file that stands for who sits at a computer.
func (p *desktops) owner(desk string) string { return filepath.Join(p.dir, desk, "owner") }

// sit makes all owners do something: active, or free.
func (p *desktops) sit(does string) error {
	for _, desk := range desks {
		if err := os.WriteFile(p.owner(desk), []byte(does), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// pool makes a fourth site, of three desktops, and makes it a neighbour of the site to which its jobs are handed.
func (d *demo) pool(ctx context.Context, programs cluster.Programs, detached bool) (*desktops, error) {
	say("A pool of desktops", "a fourth site, of three computers that stay their owners'")
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	agents := port.Addr().String()
	port.Close()
	p := &desktops{dir: d.dir}
	if p.Site, err = cluster.Init(ctx, programs, d.dir, "desks", cluster.Options{Batch: "pool", Agents: agents}); err != nil {
		return nil, err
	}
	p.Detached = detached
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	d.desks = p
	for i, desk := range desks {
		if err := p.join(ctx, programs, desk, 1-0.2*float64(i)); err != nil {
			return nil, err
		}
	}
	listed := func() bool {
		list := p.list(ctx)
		return strings.Count(list, "desk") >= len(desks) && !strings.Contains(list, "never connected")
	}
	if err := cluster.Until(ctx, 30*time.Second, listed); err != nil {
		return nil, fmt.Errorf("the desktops do not register: %w", err)
	}
	fmt.Printf("\n$ gbroker pool list --config %s\n%s", p.Config(), indent(p.list(ctx)))
	home := d.sites[2]
	if err := errors.Join(p.Know(ctx, home), home.Know(ctx, p.Site)); err != nil {
		return nil, err
	}
	return p, home.Measured(ctx, 30*time.Second, 1<<10, p.Name)
}

func (p *desktops) list(ctx context.Context) string {
	return p.Admin(ctx, "pool", "list", "--config", p.Config()).Stdout
}

// join makes a computer one of the pool, with a code that its operator gives out, and starts its agent.
func (p *desktops) join(ctx context.Context, programs cluster.Programs, desk string, speed float64) error {
	code := p.Admin(ctx, "pool", "invite", "--config", p.Config())
	if code.Code != 0 {
		return fmt.Errorf("inviting %s: %s", desk, code.Stderr)
	}
	home := filepath.Join(p.dir, desk)
	out, err := exec.CommandContext(ctx, programs.Agent, "join", "--dir", home, "--name", desk, strings.TrimSpace(code.Stdout)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("joining %s: %w\n%s", desk, err, out)
	}
	me, err := user.Current()
	if err != nil {
		return err
	}
	log, err := os.Create(home + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	agent := exec.Command(programs.Agent, "run", "--dir", home, "--cores", "1", "--speed", strconv.FormatFloat(speed, 'g', 2, 64),
		"--property", "desktop", "--account", me.Username, "--owner-file", p.owner(desk))
	agent.Stderr = log
	agent.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !p.Detached {
		agent.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	if err := agent.Start(); err != nil {
		return fmt.Errorf("starting the agent of %s: %w", desk, err)
	}
	p.agents = append(p.agents, agent)
	fmt.Printf("  %s: $ gbroker-agent join, then run; a core of speed %.1f\n", desk, speed)
	return nil
}

// end ends the agents, and with them what they run, and then the broker.
func (p *desktops) end() error {
	for _, a := range p.agents {
		a.Process.Signal(syscall.SIGTERM)
	}
	for _, a := range p.agents {
		a.Wait()
	}
	return p.Stop()
}

// share hands in a job that runs while its desktop's owner comes and goes, and one that no desktop ends in time.
func (d *demo) share(ctx context.Context, p *desktops) error {
	say("Jobs for desktops", "handed in at xeon80 with deadlines; the first is stopped while the owners work for two seconds")
	e := &errand{at: 2, file: "desk", state: "COMPLETED"}
	if err := d.dated(e.file, 30*time.Minute); err != nil {
		return err
	}
	if err := d.submit(ctx, e); err != nil {
		return err
	}
	if err := d.interrupt(ctx, p, e); err != nil {
		return err
	}
	if err := d.await(ctx, []*errand{e}); err != nil {
		return err
	}
	if err := d.outputs(ctx, []*errand{e}); err != nil {
		return err
	}
	if err := d.stopped(e); err != nil {
		return err
	}
	if err := d.dated(e.file, 5*time.Minute); err != nil {
		return err
	}
	late := d.sites[e.at].Client(ctx, "submit", filepath.Join(d.jobs, e.file+".jsdl"))
	if late.Code == 0 || !strings.Contains(late.Stderr, "after its deadline") {
		return fmt.Errorf("four minutes of work by a deadline in five, on computers of which half is presumed, is not refused: exit code %d: %s", late.Code, late.Stderr)
	}
	fmt.Printf("\n  the same job, with a deadline in five minutes: half of a computer is presumed until more is known\n  %s$ gclient submit %s\n%s", d.sites[e.at].Name, e.file+".jsdl", indent(late.Stderr))
	return nil
}

// dated writes a deadline into a job's document.
func (d *demo) dated(file string, in time.Duration) error {
	name := file + ".jsdl"
	text, err := os.ReadFile(filepath.Join("test/demo/jobs", name))
	if err != nil {
		return err
	}
	deadline := time.Now().Add(in).UTC().Format(time.RFC3339)
	return os.WriteFile(filepath.Join(d.jobs, name), []byte(strings.Replace(string(text), "DEADLINE", deadline, 1)), 0o644)
}

// interrupt lets the owners work for two seconds as soon as a job has begun.
func (d *demo) interrupt(ctx context.Context, p *desktops, e *errand) error {
	begun := func() bool {
		steps, _ := filepath.Glob(filepath.Join(p.dir, "desk*", "jobs", "*", "work", "steps"))
		return len(steps) > 0
	}
	if err := cluster.Until(ctx, 3*time.Minute, begun); err != nil {
		st, _ := d.sites[e.at].Status(ctx, e.id)
		return fmt.Errorf("%s does not begin: it is %s (%s): %w", e.file, st.State, st.Reason, err)
	}
	if err := p.sit("active"); err != nil {
		return err
	}
	select {
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
	}
	return p.sit("free")
}

var pause = regexp.MustCompile(`took (\d+) ms`)

// stopped looks that the job stood still while the owners worked.
func (d *demo) stopped(e *errand) error {
	out, err := os.ReadFile(filepath.Join(d.dir, "out", e.id, "stdout.txt"))
	if err != nil {
		return err
	}
	found := pause.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("%s wrote %q", e.file, out)
	}
	if ms, err := strconv.Atoi(string(found[1])); err != nil || ms < 1000 {
		return fmt.Errorf("%s was not stopped while the owners worked: its longest pause took %s ms", e.file, found[1])
	}
	return nil
}
