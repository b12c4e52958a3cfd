package cluster

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// process is one of those that run on this machine.
type process struct {
	pid  int
	line []byte // its command line, words ended by zeros
}

func (p process) supervisor() bool { return bytes.Contains(p.line, []byte("supervise")) }

// processesIn finds the processes that work in dir or name a file of it on their
// command line: those of its sites' daemons, their supervisors and programs.
func processesIn(dir string) []process {
	var list []process
	for _, pid := range processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || len(line) == 0 || pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if bytes.Contains(line, []byte(dir+"/")) || strings.HasPrefix(cwd, dir+"/") {
			list = append(list, process{pid, line})
		}
	}
	return list
}

func processes() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Leftovers lists the processes that belong to dir; see processesIn.
func Leftovers(dir string) []string {
	var list []string
	for _, p := range processesIn(dir) {
		list = append(list, fmt.Sprintf("%d %s", p.pid, bytes.ReplaceAll(p.line, []byte{0}, []byte{' '})))
	}
	return list
}
