package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// ErrTimeout is what Until gives when its condition does not come true.
var ErrTimeout = errors.New("it did not come true in time")

// Until polls ok until it holds. What has not come for long is asked for more seldom: to ask is often to
// start a program, and many that wait would take the machine from what they wait for.
func Until(ctx context.Context, limit time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%s)", ErrTimeout, limit)
		case <-time.After(min(max(20*time.Millisecond, time.Since(begun)/10), 150*time.Millisecond)):
		}
	}
	return nil
}

// ErrOtherQuestion is what View gives where only gclient itself can be asked.
var ErrOtherQuestion = errors.New("this is asked by gclient alone")

// View decodes into v what gclient prints of a job, a group, the jobs or the sites with --json. It asks at the broker's
// socket, as gclient does: to start that takes ten times as much of the processor as the question, and tests ask again
// and again until something is so.
func (s *Site) View(ctx context.Context, v any, args ...string) error {
	c, err := api.NewClient(api.ClientConfig{Address: s.Address()})
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := viewed(ctx, c, args)
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("writing the answer of %s: %w", s.Name, err)
	}
	return json.Unmarshal(text, v)
}

func viewed(ctx context.Context, c *api.Client, args []string) (any, error) {
	switch {
	case len(args) == 1 && args[0] == "sites":
		return c.Sites(ctx)
	case len(args) == 1 && args[0] == "list":
		return listed(ctx, c)
	case len(args) != 2:
		return nil, ErrOtherQuestion
	}
	if group, err := grid.ParseGroupID(args[1]); err == nil && args[0] == "status" {
		return c.GroupPage(ctx, group, api.Members{Limit: 100}) // so many gclient shows
	}
	id, err := grid.ParseJobID(args[1])
	switch {
	case err != nil:
		return nil, ErrOtherQuestion
	case args[0] == "status":
		return c.Job(ctx, id)
	case args[0] == "history":
		return c.History(ctx, id)
	case args[0] == "explain":
		return c.Explain(ctx, id)
	}
	return nil, ErrOtherQuestion
}

// listed is the list of all jobs; what lies over several sites is one.
func listed(ctx context.Context, c *api.Client) ([]api.Status, error) {
	list, after := []api.Status{}, grid.JobID("")
	for {
		page, err := c.List(ctx, api.Filter{Folded: true}, after, api.MaxPage)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Jobs...)
		if page.Next == nil || *page.Next == after {
			return list, nil
		}
		after = *page.Next
	}
}

// Status is what is read of `gclient status --json`.
type Status struct {
	State     string  `json:"state"`
	Owner     string  `json:"owner"`
	Reason    string  `json:"reason"`
	Exit      *int    `json:"exit_code"`
	Predicted *string `json:"start_estimate_at_submit"`
	Started   *string `json:"started"`
	Processes int     `json:"processes"`
}

// Status asks for the status of a job.
func (s *Site) Status(ctx context.Context, id string) (Status, error) {
	var st Status
	if err := s.View(ctx, &st, "status", id); err != nil {
		return st, fmt.Errorf("asking %s for the status of %s: %w", s.Name, id, err)
	}
	return st, nil
}

// SiteView is a line of `gclient sites --json`.
type SiteView struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	RTT       *float64 `json:"rtt_s"`
	Processes int      `json:"processes"`
	Bandwidth []struct {
		Size     int64    `json:"size_bytes"`
		Rate     *float64 `json:"bytes_per_s"`
		Measured bool     `json:"measured"`
	} `json:"bandwidth"`
}

// Sites is what the site says of its neighbourhood.
func (s *Site) Sites(ctx context.Context) ([]SiteView, error) {
	var list []SiteView
	if err := s.View(ctx, &list, "sites"); err != nil {
		return nil, fmt.Errorf("asking %s for its sites: %w", s.Name, err)
	}
	return list, nil
}

// Sees waits until the site sees all the named others alive.
func (s *Site) Sees(ctx context.Context, limit time.Duration, names ...string) error {
	return s.sites(ctx, limit, "alive", names, func(v SiteView) bool { return v.State == "alive" })
}

// Measured waits until the bandwidth to all the named others is measured for a size.
func (s *Site) Measured(ctx context.Context, limit time.Duration, size int64, names ...string) error {
	return s.sites(ctx, limit, "measured", names, func(v SiteView) bool {
		for _, b := range v.Bandwidth {
			if b.Size >= size {
				return b.Measured
			}
		}
		return false
	})
}

func (s *Site) sites(ctx context.Context, limit time.Duration, what string, names []string, ok func(SiteView) bool) error {
	var last []SiteView
	err := Until(ctx, limit, func() bool {
		last, _ = s.Sites(ctx)
		n := 0
		for _, v := range last {
			for _, name := range names {
				if v.Name == name && ok(v) {
					n++
				}
			}
		}
		return n == len(names)
	})
	if err != nil {
		return fmt.Errorf("%s: not all of %v are %s: %w: %+v", s.Name, names, what, err, last)
	}
	return nil
}

// Line is one of the neighbours' file of At: it tells of Of. Options are flags of `gbroker neighbour add`.
type Line struct {
	At, Of  *Site
	Options []string
}

// Introduce adds lines: those of a site in their order, the sites side by side. A site that has a line about another waits
// for a moment until it hears it, which it does when the other has one too.
func Introduce(ctx context.Context, lines ...Line) error {
	ids := map[*Site]string{}
	for _, l := range lines {
		if ids[l.Of] != "" {
			continue
		}
		id, err := l.Of.id(ctx)
		if err != nil {
			return err
		}
		ids[l.Of] = id
	}
	errs := make([]error, len(lines))
	var all sync.WaitGroup
	begun := map[*Site]bool{}
	for _, one := range lines {
		if begun[one.At] {
			continue
		}
		begun[one.At] = true
		all.Go(func() {
			for i, l := range lines {
				if l.At == one.At {
					errs[i] = l.At.add(ctx, ids[l.Of], l.Options)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Mesh makes every site a member of every other.
func Mesh(ctx context.Context, sites ...*Site) error {
	var lines []Line
	for _, a := range sites {
		for _, b := range sites {
			if a != b {
				lines = append(lines, Line{At: a, Of: b})
			}
		}
	}
	return Introduce(ctx, lines...)
}

// Exists reports that a file is there.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
