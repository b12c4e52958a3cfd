package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gbroker/grid"
	"gbroker/store"
	"gbroker/test/cluster"
)

// journals reads what the journals of the stopped daemons hold, and counts handoffs.
func (r *run) journals(ctx context.Context) ([]kept, error) {
	var all []kept
	for _, s := range r.sites {
		list, err := r.journal(ctx, s)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// handed is how the history of an owner tells that it passed the commit point.
const handed = "handed to "

func (r *run) journal(ctx context.Context, s *site) (list []kept, err error) {
	j, err := store.Open(ctx, filepath.Join(s.Dir, "data"))
	if err != nil {
		return nil, err
	}
	defer j.Close()
	records, err := j.Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range records {
		list = append(list, kept{s.Name, k.Job.ID, k.State, k.Role, k.Handoff.Phase, k.Started})
		events, err := j.History(ctx, grid.KindJob, string(k.Job.ID))
		if err != nil {
			return nil, err
		}
		told := map[grid.Epoch]bool{}
		for _, e := range events {
			if strings.HasPrefix(e.Why, handed) && !told[e.Epoch] {
				told[e.Epoch] = true
				r.handoffs++
			}
		}
		r.histories[k.Job.ID] += history(s.Name, events)
	}
	return list, nil
}

// history is the events of one journal, for people.
func history(site string, events []grid.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "    %s: %d %s %s at %s: %s\n", site, e.At, e.Epoch, e.State, e.Site, e.Why)
	}
	return b.String()
}

// processes lists what of the run is still there: what works in its folder or
// carries its mark.
func (r *run) processes() []string {
	list := cluster.Leftovers(r.dir)
	all, err := os.ReadDir("/proc")
	if err != nil {
		return append(list, err.Error())
	}
	for _, e := range all {
		environment, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && bytes.Contains(environment, []byte(markVariable+"="+r.mark)) {
			line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			list = append(list, fmt.Sprintf("%s %s", e.Name(), bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return list
}

// entries are the names in a folder; none if it is not there.
func entries(dir string) (names []string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
