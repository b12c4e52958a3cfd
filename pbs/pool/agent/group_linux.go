package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gbroker/pbs/cgroup"
)

// groups is where jobs get control groups (version 2) of their own. A program begins in that of its job by being a child of the supervisor,
// which begins there too and is then moved to the agent's: it has to work on while the program is frozen.
type groups struct {
	root string // the folder below which they are
	home string // that of the agent itself
}

// openGroups makes the group of all jobs below the agent's own.
func openGroups(own string) (g groups, err error) {
	g = groups{root: filepath.Join(own, "gbroker"), home: own}
	has, _ := cgroup.Given(own, cgroup.Controllers)
	if alone(own) && len(has) > 0 { // a group that gives controllers may have no process
		g.home = filepath.Join(own, "agent")
		if err := errors.Join(mkdir(g.home), cgroup.Set(g.home, cgroup.Processes, strconv.Itoa(os.Getpid()))); err != nil {
			return groups{}, fmt.Errorf("making way in the control group %s: %w", own, err)
		}
	}
	if err := mkdir(g.root); err != nil {
		return groups{}, err
	}
	if _, err := os.Stat(filepath.Join(g.root, "cgroup.kill")); err != nil {
		return groups{}, fmt.Errorf("control groups cannot be killed as a whole before Linux 5.14: %w", err)
	}
	for _, c := range has {
		for _, dir := range []string{own, g.root} {
			if cgroup.Grant(dir, c) != nil {
				break // it is not for us to give
			}
		}
	}
	return g, nil
}

func mkdir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making a control group: %w", err)
	}
	return nil
}

// alone tells that this process is the only one of a group.
func alone(dir string) bool {
	all, err := os.ReadFile(filepath.Join(dir, cgroup.Processes))
	return err == nil && strings.TrimSpace(string(all)) == strconv.Itoa(os.Getpid())
}

// of is the group of a job by its folder; where there are none it is none.
func (g groups) of(f Folder) group {
	if g.root == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(f)) // several agents may be here
	return group(filepath.Join(g.root, filepath.Base(string(f))+"."+hex.EncodeToString(sum[:4])))
}

// group is the folder of a job's control group; "" is none.
type group string

// open makes the group anew, and holds the job in it to what it has; the caller closes it. Nothing of what was in it before lives on.
func (g group) open(j Job) (*os.File, error) {
	if err := errors.Join(g.clear(), mkdir(string(g))); err != nil {
		return nil, err
	}
	if err := g.confine(j); err != nil {
		return nil, errors.Join(err, g.clear())
	}
	return os.Open(string(g))
}

// confine sets what the kernel holds a job to, as far as the group has controllers for it.
func (g group) confine(j Job) error {
	return cgroup.Limits{Cores: j.Cores, Memory: j.Room, Weight: 1, Idle: true}.Set(string(g))
}

// freeze stops all that is in the group, or lets it go on.
func (g group) freeze(stop bool) error {
	if g == "" {
		return nil
	}
	value := "0"
	if stop {
		value = "1"
	}
	return cgroup.Set(string(g), "cgroup.freeze", value)
}

// clear kills all that is in the group, and removes it.
func (g group) clear() error {
	if g == "" {
		return nil
	}
	return cgroup.Clear(string(g))
}
