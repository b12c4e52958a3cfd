package embedded_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/embedded"
	"gbroker/plan"
)

func configOf(t *testing.T) embedded.Config {
	return embedded.Config{
		Site: grid.Site{Name: "here", Processes: 12, Speed: 1, Architecture: "x86_64", System: "LINUX"},
		Nodes: []plan.Node{
			{Name: "a", Cores: 8, Memory: 1 << 30, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 4}}, Speed: 1.5, Properties: []string{"ib"}},
			{Name: "b", Cores: 4},
		},
		Queues: []plan.Queue{{Name: "fast", Nodes: []int{0}, Limit: grid.Hour}, {Name: "all"}},
		Spool:  filepath.Join(t.TempDir(), "spool"), Supervisor: []string{"/bin/false"},
	}
}

func TestConfigMistakes(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*embedded.Config){
		"must be an absolute path":                       func(c *embedded.Config) { c.Spool = "spool" },
		"has no nodes":                                   func(c *embedded.Config) { c.Nodes = nil },
		"a node of the embedded batch system":            func(c *embedded.Config) { c.Nodes[0].Name = "A" },
		"two nodes are called a":                         func(c *embedded.Config) { c.Nodes[1].Name = "a" },
		"node a declares 0 cores":                        func(c *embedded.Config) { c.Nodes[0].Cores = 0 },
		"node a: 0 of the resource gpu:a100":             func(c *embedded.Config) { c.Nodes[0].Resources[0].Amount = 0 },
		"node a: the property ib is named twice":         func(c *embedded.Config) { c.Nodes[0].Properties = []string{"ib", "ib"} },
		"node b: its speed is -1":                        func(c *embedded.Config) { c.Nodes[1].Speed = -1 },
		"node b: its speed is NaN":                       func(c *embedded.Config) { c.Nodes[1].Speed = math.NaN() },
		"node b: its speed is 1001":                      func(c *embedded.Config) { c.Nodes[1].Speed = 1001 },
		"a queue: the name is empty":                     func(c *embedded.Config) { c.Queues[1].Name = "" },
		"two queues are called fast":                     func(c *embedded.Config) { c.Queues[1].Name = "fast" },
		"queue fast has a limit of -1 ms":                func(c *embedded.Config) { c.Queues[0].Limit = -1 },
		"queue fast has a limit of 31622400001 ms":       func(c *embedded.Config) { c.Queues[0].Limit = grid.MaxWalltime + 1 },
		"queue fast has the node number 2: there are 2":  func(c *embedded.Config) { c.Queues[0].Nodes[0] = 2 },
		"queue fast has the node number -1":              func(c *embedded.Config) { c.Queues[0].Nodes[0] = -1 },
		"node b declares 4 cores and -1 bytes of memory": func(c *embedded.Config) { c.Nodes[1].Memory = -1 },
		"node b declares 1048577 cores":                  func(c *embedded.Config) { c.Nodes[1].Cores = grid.MaxProcesses + 1 },
		"port":                                           func(c *embedded.Config) { c.Ports = grid.Ports{First: 5, Last: 3} },
		"grace -1ns":                                     func(c *embedded.Config) { c.Grace = -1 },
	} {
		c := configOf(t)
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		spoil(&c)
		if err := c.Validate(); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// All that a job asks for, and the nodes as they are, stand in the snapshot, also
// after a restart.
func TestSnapshotHasAllThatIsAsked(t *testing.T) {
	t.Parallel()
	ctx, config, dir := context.Background(), configOf(t), t.TempDir()
	job := grid.Job{
		ID: "here.01ABCDEFGHJKMNPQRSTVWXYZ00", Walltime: grid.Hour, Queue: "fast", Program: grid.Program{Executable: "/bin/true"},
		Demand: grid.Demand{
			Chunks:     []grid.Chunk{{Count: 1, Processes: 2, Cores: 2, Memory: 5, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 2}}}},
			Properties: []string{"ib"}, Exclusive: true,
		},
	}
	system, err := embedded.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := system.Submit(ctx, grid.Submission{
		ID: grid.AttemptID{Job: job.ID, Attempt: 1}, Job: job, Limit: grid.Hour, Work: dir, Control: dir,
	}); err != nil {
		t.Fatal(err)
	}
	want := []plan.Waiting{{Job: job.ID, Demand: job.Demand, Queue: "fast", Limit: grid.Hour}}
	for range 2 {
		shot, err := system.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(shot.Waiting, want) || !reflect.DeepEqual(shot.Nodes, config.Nodes) || !reflect.DeepEqual(shot.Queues, config.Queues) {
			t.Errorf("the snapshot shows\n%+v", shot)
		}
		if system, err = embedded.New(config); err != nil {
			t.Fatal(err)
		}
	}
}
