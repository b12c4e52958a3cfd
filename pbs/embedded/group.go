package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gbroker/pbs/cgroup"
	"gbroker/plan"
)

// groups is where jobs get control groups of their own.
type groups struct {
	root string // its folder; "" where there is none
	why  error  // why there is none
}

// openGroups makes a control group for the jobs with the controllers that are wanted, by
// really making one: below the group of this process, or beside it where this process
// itself is in the way (as under systemd with Delegate=yes and DelegateSubgroup=).
func openGroups(wanted []string) groups {
	own, err := cgroup.Own()
	if err != nil {
		return groups{why: err}
	}
	var all []error
	for _, parent := range []string{own, filepath.Dir(own)} {
		root, err := makeRoot(parent, wanted)
		if err == nil {
			return groups{root: root}
		}
		all = append(all, err)
	}
	return groups{why: fmt.Errorf("no control groups can be made for jobs: %w", errors.Join(all...))}
}

// makeRoot makes the group below which the jobs' groups are.
func makeRoot(parent string, wanted []string) (string, error) {
	root := filepath.Join(parent, "gbroker")
	if _, err := os.Stat(filepath.Join(parent, "cgroup.controllers")); err != nil {
		return "", fmt.Errorf("%s is no control group of version 2", parent)
	}
	if err := enable(parent, wanted); err != nil {
		return "", err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	err := enable(root, wanted)
	if err == nil {
		err = tryOut(root, wanted)
	}
	if err != nil {
		os.Remove(root)
		return "", err
	}
	return root, nil
}

// enable gives controllers to the groups below a group.
func enable(group string, wanted []string) error {
	has, err := cgroup.Given(group, wanted)
	if err != nil {
		return err
	}
	for _, c := range wanted {
		if !slices.Contains(has, c) {
			return fmt.Errorf("%s has no controller %s", group, c)
		}
		if err := cgroup.Grant(group, c); err != nil {
			return err
		}
	}
	return nil
}

// tryOut makes a group as of a job, and removes it.
func tryOut(root string, wanted []string) error {
	dir, err := os.MkdirTemp(root, "trial")
	if err != nil {
		return err
	}
	if slices.Contains(wanted, "memory") {
		err = cgroup.Set(dir, "memory.max", "max")
	}
	return errors.Join(err, os.Remove(dir))
}

// forJob makes the group of a job with what it was given of its nodes: memory is a
// limit, processor time a share of what others want too.
func (g groups) forJob(tag string, shares []plan.Share) (dir string, err error) {
	if g.root == "" {
		return "", nil
	}
	dir = filepath.Join(g.root, tag)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	var cores int
	var memory int64
	for _, h := range shares {
		cores, memory = cores+h.Cores, memory+h.Memory
	}
	if err := (cgroup.Limits{Cores: cores, Memory: memory, Weight: 100 * max(cores, 1)}).Set(dir); err != nil {
		os.Remove(dir)
		return "", err
	}
	return dir, nil
}

// clear kills what is left in the group of a job, and removes it.
func (g groups) clear(tag string) error {
	if g.root == "" {
		return nil
	}
	return cgroup.Clear(filepath.Join(g.root, tag))
}

// Confinement says by what jobs are confined besides their own limits, and why not by
// control groups, if that was asked for and cannot be; for people.
func (s *System) Confinement() (what string, err error) {
	switch {
	case !s.config.Confine:
		return "none: confine is not set", nil
	case s.groups.root == "":
		return "none", s.groups.why
	}
	return "control groups below " + s.groups.root, nil
}
