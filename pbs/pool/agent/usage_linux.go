package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/cgroup"
	"gbroker/pbs/embedded/supervise"
)

// ticks are what /proc counts in a second.
const ticks = 100

// processes are those of the program: all of its control group, where it has one, and all that descend from its supervisor,
// since what runs as the agent's own account can leave a group, or make one in it.
func (p *linuxProcess) processes() (pids []int) {
	p.mu.Lock()
	apart := p.apart
	p.mu.Unlock()
	pids = supervise.Descendants(p.supervisor.Pid)
	if !apart {
		return pids
	}
	all, err := os.ReadFile(filepath.Join(string(p.group), cgroup.Processes))
	if err != nil {
		return pids
	}
	for word := range strings.FieldsSeq(string(all)) {
		if pid, err := strconv.Atoi(word); err == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (p *linuxProcess) Used() (used grid.Tick) {
	for _, pid := range p.processes() {
		used += cpuOf(pid)
	}
	return used
}

func (p *linuxProcess) Memory(enough int64) (bytes int64) {
	all := p.processes()
	for _, pid := range all {
		bytes += residentOf(pid)
	}
	if bytes <= enough {
		return bytes
	}
	bytes = 0
	for _, pid := range all {
		bytes += proportionOf(pid)
	}
	return bytes
}

// residentOf is what a process has in memory, with all that it shares.
func residentOf(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	f := strings.Fields(string(data))
	if err != nil || len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// proportionOf is what a process has in memory, with its part of what it shares; where the kernel does not tell that, with all of it.
func proportionOf(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	for l := range strings.Lines(string(data)) {
		var kib int64
		if n, _ := fmt.Sscanf(l, "Pss: %d", &kib); n == 1 && err == nil {
			return kib << 10
		}
	}
	return residentOf(pid)
}

// cpuOf is the processor time of a process and of its children that have ended.
func cpuOf(pid int) grid.Tick {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	text := string(data)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 15 {
		return 0
	}
	sum := int64(0)
	for _, one := range f[11:15] {
		n, err := strconv.ParseInt(one, 10, 64)
		if err != nil {
			return 0
		}
		sum += n
	}
	return grid.Span(time.Duration(sum) * time.Second / ticks)
}
