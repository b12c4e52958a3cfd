package wrapper

import (
	"fmt"
	"os/exec"
	"regexp"
	"testing"

	"gbroker/grid"
)

// Every limit of a process is the program's, to the byte.
func TestLimits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("there is no prlimit (util-linux)")
	}
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, grid.Program{Executable: "/bin/cat", Arguments: []string{"/proc/self/limits"}})
		want := map[string]int64{}
		for name, l := range map[string]grid.Limit{
			"Max core file size": {Name: grid.LimitCore}, "Max cpu time": {Name: grid.LimitCPU, Value: 77}, "Max data size": {Name: grid.LimitData, Value: 1<<26 + 1},
			"Max file size": {Name: grid.LimitFile, Value: 1<<20 + 3}, "Max open files": {Name: grid.LimitFiles, Value: 19}, "Max locked memory": {Name: grid.LimitLocked, Value: 1 << 14},
			"Max stack size": {Name: grid.LimitStack, Value: 1 << 20}, "Max processes": {Name: grid.LimitThreads, Value: 1 << 14}, "Max address space": {Name: grid.LimitVirtual, Value: 1 << 30},
		} {
			n.Program.SetLimit(l.Name, l.Value)
			want[name] = l.Value
		}
		n.Program.SetLimit(grid.LimitMemory, 1<<27)
		n.run()
		got := n.read("stdout")
		for name, value := range want {
			if !regexp.MustCompile(`(?m)^` + name + ` +` + fmt.Sprintf("%d +%d ", value, value)).MatchString(got) {
				t.Errorf("%s is not %d:\n%s", name, value, got)
			}
		}
	})
}
