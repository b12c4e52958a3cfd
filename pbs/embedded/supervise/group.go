package supervise

import (
	"fmt"
	"os"
	"syscall"

	"gbroker/pbs/cgroup"
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
	if cgroup.OutOfMemory(s.Group) {
		detail = fmt.Sprintf("it was killed for it took more memory than it had asked for at site %s", s.Site)
	}
	if err := cgroup.Clear(s.Group); err != nil {
		complain(0, fmt.Errorf("%s: %w", s.ID, err))
	}
	return detail
}
