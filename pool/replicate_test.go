package pool

import (
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

func TestReplicas(t *testing.T) {
	t.Parallel()
	fast := Computer{System: "linux", Forecast: Constant(1)}
	slow := Computer{System: "windows", Forecast: Constant(0.1), Free: 900 * grid.Second}
	const late = 500 * grid.Second
	twice := Job{Work: 80, Twice: true, Checkpoints: true, Rerunnable: true}
	once := twice
	once.Twice = false
	stuck := twice
	stuck.Rerunnable = false
	for _, c := range []struct {
		name string
		kind ReplicationKind
		task Task
		want int     // tasks that begin
		work float64 // for it
	}{
		{"the last task gets a copy", WQR, Task{Job: twice, On: []int{1}, Ends: late}, 1, 80},
		{"but not one that is foreseen to end later", WQR, Task{Job: twice, On: []int{1}, Ends: 80 * grid.Second}, 0, 0},
		{"but only if its job declares that it may run twice", WQR, Task{Job: once, On: []int{1}, Ends: late}, 0, 0},
		{"and if copies are wanted", NoReplication, Task{Job: twice, On: []int{1}, Ends: late}, 0, 0},
		{"a task that has as many as it may gets none", WQR, Task{Job: twice, On: []int{1, 1}, Ends: late}, 0, 0},
		{"WQR does not begin again what was cut off", WQR, Task{Job: twice, Lost: true}, 0, 0},
		{"WQR-R does", WQRR, Task{Job: twice, Lost: true, Checkpoint: 50, Wrote: "/linux"}, 1, 80},
		{"where the job may be begun again", WQRR, Task{Job: stuck, Lost: true}, 0, 0},
		{"WQR-FT goes on from the checkpoint", WQRFT, Task{Job: twice, Lost: true, Checkpoint: 50, Wrote: "/linux"}, 1, 30},
		{"also where the job cannot be begun again", WQRFT, Task{Job: stuck, Lost: true, Checkpoint: 50, Wrote: "/linux"}, 1, 30},
		{"on the same platform alone", WQRFT, Task{Job: twice, Lost: true, Checkpoint: 50, Wrote: "/windows"}, 1, 80},
		{"else not at all", WQRFT, Task{Job: stuck, Lost: true, Checkpoint: 50, Wrote: "/windows"}, 0, 0},
		{"a copy goes on from it too", WQRFT, Task{Job: twice, On: []int{1}, Ends: 80 * grid.Second, Checkpoint: 50, Wrote: "/linux"}, 1, 30},
		{"a new task begins with any kind", NoReplication, Task{Job: once}, 1, 80},
	} {
		got := Replication{c.kind, 2, true}.Begin(1, []Computer{fast, slow}, []Task{c.task})
		if len(got) != c.want || c.want > 0 && (got[0].Computer != 0 || got[0].Work != c.work) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	blind := Replication{WQR, 2, false}
	if got := blind.Begin(1, []Computer{fast, slow}, []Task{{Job: twice, On: []int{1}, Ends: 2}}); len(got) != 1 {
		t.Errorf("who is not informed replicates whatever is foreseen: %+v", got)
	}
}

// No task waits beside a free computer that could run it, copies come after all others, and no computer gets two.
func TestReplicasComeLast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now, most = 100, 3
		computers := drawComputers(t)
		var tasks []Task
		for _, j := range drawJobs.Draw(t, "jobs") {
			j.Twice, j.Rerunnable = rapid.Bool().Draw(t, "twice"), rapid.Bool().Draw(t, "rerunnable")
			task := Task{Job: j, Lost: rapid.Bool().Draw(t, "lost")}
			for i := range computers {
				if computers[i].Free > now && rapid.IntRange(0, 3).Draw(t, "on") == 0 {
					task.On, task.Lost, task.Ends = append(task.On, i), false, computers[i].Free
				}
			}
			tasks = append(tasks, task)
		}
		rule := Replication{ReplicationKind(rapid.IntRange(0, 3).Draw(t, "kind")), most, rapid.Bool().Draw(t, "informed")}
		used, runs := make(map[int]bool), make([]int, len(tasks))
		for i := range tasks {
			runs[i] = len(tasks[i].On)
		}
		for _, s := range rule.Begin(now, computers, tasks) {
			c := &computers[s.Computer]
			if used[s.Computer] || c.Free > now || c.Lacks(&tasks[s.Task].Job) != "" {
				t.Fatalf("%+v must not be", s)
			}
			if runs[s.Task] > 0 {
				for i := range tasks {
					if runs[i] == 0 && rule.may(c, &tasks[i], 0) && rule.sooner(now, c, &tasks[i], 0, Never) {
						t.Fatalf("%+v: task %d waits beside a copy", s, i)
					}
				}
				if !tasks[s.Task].Twice || runs[s.Task] >= most || rule.Kind == NoReplication {
					t.Fatalf("%+v is a copy that must not be", s)
				}
			}
			runs[s.Task]++
			used[s.Computer] = true
		}
		for i := range tasks {
			for c := range computers {
				if runs[i] == 0 && !used[c] && computers[c].Free <= now && rule.may(&computers[c], &tasks[i], 0) && rule.sooner(now, &computers[c], &tasks[i], 0, Never) {
					t.Fatalf("task %d waits beside computer %d", i, c)
				}
			}
		}
	})
}
