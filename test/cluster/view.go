package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrTimeout is what Until gives when its condition does not come true.
var ErrTimeout = errors.New("it did not come true in time")

// Until polls ok until it holds. What has not come for long is asked for more seldom: to ask is to
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
	r := s.Client(ctx, "status", id, "--json")
	if r.Code != 0 {
		return st, fmt.Errorf("gclient status %s: exit code %d: %s", id, r.Code, r.Stderr)
	}
	return st, json.Unmarshal([]byte(r.Stdout), &st)
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
	r := s.Client(ctx, "sites", "--json")
	if r.Code != 0 {
		return nil, fmt.Errorf("gclient sites: %s", r.Stderr)
	}
	return list, json.Unmarshal([]byte(r.Stdout), &list)
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

// Mesh makes every site a member of every other.
func Mesh(ctx context.Context, sites ...*Site) error {
	for _, a := range sites {
		for _, b := range sites {
			if a != b {
				if err := a.Know(ctx, b); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Exists reports that a file is there.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
