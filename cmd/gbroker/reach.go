package main

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/jsdl"
)

//go:embed meet.sh
var meetScript string

const meetName = "meet.sh" // in the job's folder

// meeting tries whether the nodes of two sites reach each other, by a job of one process at each, which the running daemon
// hands in. That of this site listens.
type meeting struct {
	cfg    daemon.Config
	client *api.Client
	site   grid.SiteName
	wait   time.Duration // for each job to start
	tell   func(daemon.Finding)
}

// reach tells of each way between the nodes of this site and those of another whether it is open.
func reach(ctx context.Context, file string, site grid.SiteName, wait time.Duration, tell func(daemon.Finding)) error {
	cfg, err := daemon.Load(file)
	if err != nil {
		return err
	}
	if site == cfg.Site {
		return fmt.Errorf("%w: %s is this site: name another one", grid.ErrInvalid, site)
	}
	client, err := dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	m := meeting{cfg, client, site, wait, tell}
	if err := m.try(ctx); err != nil {
		m.say(daemon.Untried, "reach", "%v", err)
	}
	return nil
}

func (m *meeting) say(verdict, name, format string, args ...any) {
	m.tell(daemon.Finding{Name: name, Verdict: verdict, Text: fmt.Sprintf(format, args...)})
}

// margin is how much longer than the other may wait for its start a job listens, and how much longer than that it may run.
const margin = 2 * time.Minute

// try has the two jobs meet. Both are gone when it returns.
func (m *meeting) try(ctx context.Context) error {
	word, limit := rand.Text(), m.wait+margin
	ports := cmp.Or(m.cfg.Batch.External.Ports, grid.DefaultPorts)
	here, err := m.submit(ctx, m.cfg.Site, limit+margin, "listen", word, strconv.Itoa(ports.First), strconv.Itoa(ports.Last), strconv.Itoa(int(limit.Seconds())))
	if err != nil {
		return err
	}
	defer m.remove(ctx, here)
	at, err := m.listens(ctx, here)
	if err != nil {
		return err
	}
	there, err := m.submit(ctx, m.site, 2*margin, append([]string{"meet", word}, at...)...)
	if err != nil {
		return err
	}
	defer m.remove(ctx, there)
	going, err := m.said(ctx, there)
	if err != nil {
		return err
	}
	back := ""
	if strings.Contains(going, fmt.Sprintf("reached %s %s\n", at[0], at[1])) {
		back, err = m.said(ctx, here)
	} else {
		err = m.awaits(ctx, here)
	}
	if err != nil {
		return err
	}
	m.judge(append(
		m.trials(fmt.Sprintf("from %s to %s", m.site, m.cfg.Site), going),
		m.trials(fmt.Sprintf("from %s to %s", m.cfg.Site, m.site), back)...,
	))
	sites, err := m.client.Sites(ctx)
	if err != nil {
		return fmt.Errorf("asking what %s declares: %w", m.site, err)
	}
	m.compare(sites)
	return nil
}

// compare tells whether the other site declares this one too.
func (m *meeting) compare(sites []api.Site) {
	at := slices.IndexFunc(sites, func(s api.Site) bool { return s.Name == m.site })
	if at < 0 || !slices.Contains(m.cfg.Batch.External.Reach, m.site) || slices.Contains(sites[at].Reach, m.cfg.Site) {
		return
	}
	m.say(daemon.Mend, "reach", "batch.reach names %s here, and %s there names %q and not %s, as they are called here: no job that needs both gets them. Write there the name that its file of neighbours has for %s",
		m.site, m.site, sites[at].Reach, m.cfg.Site, m.cfg.Site)
}

// said is what a job has printed that has ended by itself. What one that was ended has tried tells nothing.
func (m *meeting) said(ctx context.Context, id grid.JobID) (string, error) {
	s, err := m.ends(ctx, id)
	if err != nil {
		return "", err
	}
	if s.ExitCode == nil || *s.ExitCode != 0 {
		p, _ := m.client.ReadLog(ctx, id, api.LogQuery{Error: true})
		return "", fmt.Errorf("the job %s ended %s%s before all was tried: %.300s", id, s.State, because(s.Reason), p.Data)
	}
	return m.read(ctx, id)
}

// awaits is an error if a job that should listen has ended: to come to it is no trial of the way then.
func (m *meeting) awaits(ctx context.Context, id grid.JobID) error {
	s, err := m.client.Job(ctx, id)
	if err == nil && s.Terminal() {
		err = fmt.Errorf("the job %s ended %s%s before the other came: try again, or say --wait with more", id, s.State, because(s.Reason))
	}
	return err
}

// trialsOfAll are those of both jobs: the port that is told, another, and one back.
const trialsOfAll = 3

// judge compares what was tried with what the configuration declares.
func (m *meeting) judge(trials []bool) {
	declared := slices.Contains(m.cfg.Batch.External.Reach, m.site)
	open := len(trials) == trialsOfAll && !slices.Contains(trials, false)
	switch {
	case len(trials) == 0:
		m.say(daemon.Untried, "reach", "the job at %s has tried nothing: is there perl or python3 on its nodes?", m.site)
	case open && declared:
		m.say(daemon.Fine, "reach", "the nodes of both sites reach each other, as batch.reach says")
	case open:
		m.say(daemon.Fine, "reach", "the nodes of both sites reach each other: write reach: [%s] under batch here, and [%s] at %s, for one program of MPI over both", m.site, m.cfg.Site, m.site)
	case declared:
		m.say(daemon.Mend, "reach", "batch.reach names %s, whose nodes and those of here do not reach each other: take it out, or open the ways", m.site)
	default:
		m.say(daemon.Mend, "reach", "the nodes of the two sites do not reach each other: open the ways, or leave %s out of batch.reach, as it is", m.site)
	}
}

// trials tells of each that a job has printed whether it came through.
func (m *meeting) trials(name, out string) (open []bool) {
	for line := range strings.Lines(out) {
		verdict, words := daemon.Fine, strings.Fields(line)
		switch {
		case len(words) < 3:
			continue
		case words[0] == "failed":
			verdict = daemon.Mend
		case words[0] != "reached":
			continue
		}
		open = append(open, verdict == daemon.Fine)
		m.say(verdict, name, "%s", strings.Join(words, " "))
	}
	return open
}

// submit hands in a job of one process at one site, which may run for as long as span.
func (m *meeting) submit(ctx context.Context, site grid.SiteName, span time.Duration, args ...string) (grid.JobID, error) {
	job := grid.Job{
		Name: "reach", Walltime: grid.Span(span), Sites: grid.Choice{Only: []grid.SiteName{site}},
		Program: grid.Program{Executable: "/bin/sh", Arguments: append([]string{meetName}, args...), Output: "meet.txt"},
		Demand:  grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
		Outputs: []grid.Output{{Path: "meet.txt", Target: "meet.txt"}},
	}
	size := int64(len(meetScript))
	a, err := m.client.Submit(ctx, api.Submission{
		Key: "reach-" + rand.Text(), Document: string(jsdl.Print(&job, nil)), Name: "reach", Include: []api.File{{Path: meetName, Size: size}},
	})
	if err != nil {
		return "", fmt.Errorf("a job at %s is refused: %w", site, err)
	}
	id := a.Status.ID
	if err = m.client.Upload(ctx, id, meetName, size, strings.NewReader(meetScript)); err == nil {
		_, err = m.client.Uploaded(ctx, id)
	}
	if err != nil {
		m.remove(ctx, id)
		return "", fmt.Errorf("the job at %s does not get its script: %w", site, err)
	}
	return id, nil
}

// listens waits for the host and the ports on which a job listens.
func (m *meeting) listens(ctx context.Context, id grid.JobID) ([]string, error) {
	for end := time.Now().Add(m.wait); ; {
		out, err := m.read(ctx, id)
		if words := strings.Fields(out); err == nil && len(words) > 3 && words[0] == "listens" && strings.HasSuffix(out, "\n") {
			return words[1:4], nil
		}
		s, asked := m.client.Job(ctx, id)
		switch err := cmp.Or(err, asked); {
		case err != nil:
			return nil, err
		case s.Terminal():
			return nil, m.silent(ctx, &s)
		case time.Now().After(end):
			return nil, fmt.Errorf("the job at %s is %s after %v: say --wait with more", m.cfg.Site, s.State, m.wait)
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// silent is why a job has ended that should listen.
func (m *meeting) silent(ctx context.Context, s *api.Status) error {
	p, _ := m.client.ReadLog(ctx, s.ID, api.LogQuery{Error: true})
	return fmt.Errorf("the job at %s ended %s, and has not listened %s%.300s: is there perl or python3 on its nodes?", m.cfg.Site, s.State, s.Reason, p.Data)
}

// ends waits for the end of a job.
func (m *meeting) ends(ctx context.Context, id grid.JobID) (api.Status, error) {
	for end := time.Now().Add(m.wait); ; {
		s, err := m.client.Job(ctx, id)
		switch {
		case err != nil:
			return s, err
		case s.Terminal():
			return s, nil
		case s.Started == 0 && time.Now().After(end):
			return s, fmt.Errorf("the job %s is %s after %v%s: say --wait with more", id, s.State, m.wait, because(s.Reason))
		}
		if err := pause(ctx); err != nil {
			return s, err
		}
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

func (m *meeting) read(ctx context.Context, id grid.JobID) (string, error) {
	p, err := m.client.ReadLog(ctx, id, api.LogQuery{})
	if errors.Is(err, grid.ErrNotYet) || errors.Is(err, grid.ErrNotFound) {
		err = nil
	}
	return string(p.Data), err
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}

// remove ends a job, and forgets it when it has ended.
func (m *meeting) remove(ctx context.Context, id grid.JobID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	_, err := m.client.Cancel(ctx, id) // told below, if it stays
	for {
		s, asked := m.client.Job(ctx, id)
		if err = cmp.Or(asked, err); asked == nil && s.Terminal() {
			err = m.client.Remove(ctx, id)
			if err == nil {
				return
			}
		}
		if pause(ctx) != nil {
			m.say(daemon.Mend, "reach", "the job %s is left: cancel and remove it: %v", id, err)
			return
		}
	}
}
