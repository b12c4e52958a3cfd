package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// users are those who hand jobs in, cancel them and look at them: each does what a
// patient person does, the same again until it is answered.
type users struct {
	run *run

	mu       sync.Mutex
	ids      map[string]grid.JobID
	told     map[grid.JobID]view // the first end that was read of each job
	repeated int                 // submissions that were sent again
	findings []string
}

// tryAgain is how long somebody waits who got no answer.
const tryAgain = 300 * time.Millisecond

// hand hands in one job at its time, and cancels it if it is to be cancelled.
func (u *users) hand(ctx context.Context, w work) {
	s := u.run.site(w.Home)
	if !pause(ctx, w.At) {
		return
	}
	for n := 0; ; n++ {
		err := u.submit(ctx, s, w)
		if err == nil {
			break
		}
		u.mu.Lock()
		u.repeated++
		u.mu.Unlock()
		if errors.Is(err, grid.ErrInvalid) || !pause(ctx, tryAgain) {
			u.find("handing in %s at %s, %d times: %v", w.Name, s.Name, n+1, err)
			return
		}
	}
	if w.Kind == cancelled && pause(ctx, w.CancelIn) {
		u.cancel(ctx, s, w)
	}
}

func (u *users) find(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.findings = append(u.findings, fmt.Sprintf(format, args...))
}

// submit hands a job in under its key and sends its files.
func (u *users) submit(ctx context.Context, s *site, w work) error {
	sub := api.Submission{Key: w.Name, Document: w.document(u.run.ledger, u.run.mark), Name: w.Name, Rerunnable: w.Rerunnable}
	if w.Kind == withFiles {
		sub.Files = []api.File{{Path: w.Name + ".bin", Size: int64(w.Size), Mode: 0o644}}
	}
	a, err := s.client.Submit(ctx, sub)
	if err != nil {
		return err
	}
	u.answered(w, a.ID)
	if state := a.State; state != grid.Submitted.String() && state != grid.StageIn.String() {
		return nil // it has its files
	}
	for _, f := range a.Wanted {
		if err := s.client.Upload(ctx, a.ID, f.Path, f.Size, bytes.NewReader(w.content())); err != nil {
			return err
		}
	}
	if len(a.Wanted) > 0 {
		_, err = s.client.Uploaded(ctx, a.ID)
	}
	return err
}

// answered notes the identifier that a broker has told.
func (u *users) answered(w work, id grid.JobID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if before, ok := u.ids[w.Name]; ok && before != id {
		u.findings = append(u.findings, fmt.Sprintf("the key %s made two jobs, %s and %s", w.Name, before, id))
	}
	u.ids[w.Name] = id
}

func (u *users) cancel(ctx context.Context, s *site, w work) {
	u.mu.Lock()
	id := u.ids[w.Name]
	u.mu.Unlock()
	for {
		_, err := s.client.Cancel(ctx, id)
		if err == nil || !api.Interrupted(err) {
			return // a job that has ended cannot be cancelled
		}
		if !pause(ctx, tryAgain) {
			u.find("cancelling %s: %v", w.Name, err)
			return
		}
	}
}

// look reads the list of one broker now and then, and keeps what it says of ends.
func (u *users) look(ctx context.Context, s *site) {
	for pause(ctx, time.Second) {
		views, err := u.run.list(ctx, s)
		if err != nil {
			continue // it is down
		}
		u.mu.Lock()
		for _, v := range views {
			if _, known := u.told[v.Job]; !known && v.State.Terminal() && v.Job.Site() == grid.SiteName(s.Name) {
				u.told[v.Job] = v
			}
		}
		u.mu.Unlock()
	}
}

// list is what a broker says of all jobs that it knows.
func (r *run) list(ctx context.Context, s *site) ([]view, error) {
	var views []view
	var after grid.JobID
	for {
		page, err := s.client.Jobs(ctx, after, api.MaxPage)
		if err != nil {
			return nil, fmt.Errorf("listing the jobs of %s: %w", s.Name, err)
		}
		for _, j := range page.Jobs {
			v, err := r.viewOf(s, j)
			if err != nil {
				return nil, err
			}
			views = append(views, v)
		}
		if page.Next == nil {
			return views, nil
		}
		after = *page.Next
	}
}

func (r *run) viewOf(s *site, j api.Status) (view, error) {
	state, err := grid.ParseState(j.State)
	if err != nil {
		return view{}, fmt.Errorf("what %s says of %s: %w", s.Name, j.ID, err)
	}
	v := view{
		Site: s.Name, Job: j.ID, State: state, Owner: r.nameOf(string(j.Owner)),
		Started: grid.Tick(j.Started), Ended: grid.Tick(j.Ended), Reason: j.Reason,
	}
	if j.ExitCode != nil {
		v.Exit, v.HasExit = *j.ExitCode, true
	}
	if j.Signal != nil {
		v.Signal = *j.Signal
	}
	return v, nil
}

// nameOf is the name of the site with this alias or peer ID.
func (r *run) nameOf(owner string) string {
	if name, ok := r.peers[owner]; ok {
		return name
	}
	return owner
}

// outputs are the names of the jobs whose file came home whole.
func (u *users) outputs(ctx context.Context) (whole []string) {
	for _, w := range u.run.work {
		id, ok := u.ids[w.Name]
		if w.Kind != withFiles || !ok {
			continue
		}
		var b bytes.Buffer
		_, err := u.run.site(w.Home).client.Output(ctx, id, "out.bin", &b)
		switch {
		case err != nil:
			u.find("fetching the output of %s: %v", w.Name, err)
		case bytes.Equal(b.Bytes(), w.content()):
			whole = append(whole, w.Name)
		}
	}
	return whole
}

// unsettled lists what a settled system would not have: jobs that have not ended,
// brokers that do not agree, files of jobs that have ended.
func (r *run) unsettled(ctx context.Context) (views []view, why []string) {
	for _, s := range r.sites {
		list, err := r.list(ctx, s)
		if err != nil {
			why = append(why, err.Error())
			continue
		}
		views = append(views, list...)
	}
	homes := map[grid.JobID]view{}
	for _, v := range views {
		if string(v.Job.Site()) == v.Site {
			homes[v.Job] = v
		}
	}
	for _, v := range views {
		if h := homes[v.Job]; !v.State.Terminal() || h.outcome() != v.outcome() || h.Owner != v.Owner {
			why = append(why, fmt.Sprintf("%s says of %s: %s at %s", v.Site, v.Job, v.outcome(), v.Owner))
		}
	}
	return views, append(why, r.lying()...)
}

// lying lists the files of jobs that have ended where none should be: a sandbox at
// another site than the home, a working tree, an entry of the batch system.
func (r *run) lying() (list []string) {
	for _, s := range r.sites {
		data := filepath.Join(s.Dir, "data")
		for _, id := range entries(filepath.Join(data, "jobs")) {
			if home := grid.JobID(id).Site(); id != "cache" && string(home) != s.Name {
				list = append(list, fmt.Sprintf("%s keeps files of %s: %v", s.Name, id, entries(filepath.Join(data, "jobs", id))))
			} else if work := entries(filepath.Join(data, "jobs", id, "work")); len(work) > 0 {
				list = append(list, fmt.Sprintf("%s keeps the working tree of %s: %v", s.Name, id, work))
			}
		}
		for _, name := range entries(filepath.Join(data, "batch", "jobs")) {
			list = append(list, fmt.Sprintf("the batch system of %s holds %s", s.Name, name))
		}
	}
	return list
}

// settle waits until all have ended and agree; after limit it gives what is not.
func (r *run) settle(ctx context.Context, limit time.Duration) ([]view, []string, error) {
	deadline := time.Now().Add(limit)
	for {
		views, why := r.unsettled(ctx)
		if len(why) == 0 || time.Now().After(deadline) {
			return views, why, nil
		}
		if !pause(ctx, 500*time.Millisecond) {
			return nil, nil, errors.New("interrupted")
		}
	}
}
