package supervise

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// openGroup opens the folder of the job's control group; nil where it has none.
func (s *Spec) openGroup() (*os.File, error) {
	if s.Group == "" {
		return nil, nil
	}
	f, err := os.OpenFile(s.Group, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("the job's control group cannot be opened: %w", err)
	}
	return f, nil
}

// leaveGroup ends the job's control group; it says so where the kernel killed in it for
// want of memory.
func (s *Spec) leaveGroup() (detail string) {
	if s.Group == "" {
		return ""
	}
	if outOfMemory(s.Group) {
		detail = fmt.Sprintf("it was killed for it took more memory than it had asked for at site %s", s.Site)
	}
	if err := ClearGroup(s.Group); err != nil {
		complain(0, fmt.Errorf("%s: %w", s.ID, err))
	}
	return detail
}

func outOfMemory(group string) bool {
	events, err := os.ReadFile(path.Join(group, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(events)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			n, err := strconv.Atoi(f[1])
			return err == nil && n > 0
		}
	}
	return false
}

// ClearGroup kills all processes of a control group and removes it, if it is there.
func ClearGroup(dir string) error {
	deadline := time.Now().Add(lingering)
	for {
		if f, err := os.OpenFile(path.Join(dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil { // Linux 5.14
			f.WriteString("1")
			f.Close()
		}
		err := syscall.Rmdir(dir)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("removing the control group %s: %w", dir, err)
		}
		time.Sleep(5 * time.Millisecond) // for the kernel to end its processes
	}
}
