package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock keeps a job from: to write anywhere but in its own folder, to read the key of its computer, and to signal what is not its own, also where the
// agent runs under its account. A job may write to devices and below /proc what its account may, and make files in /dev/shm, by which parallel programs talk.
const (
	ofFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	reads   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writes  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	makes   = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// Versions of Landlock. Before the first that is taken it kept files from being moved between folders, or did not see that they are cut short.
const (
	leastLandlock  = 3 // Linux 6.2
	scopedLandlock = 6 // Linux 6.12
)

// landlock is the version that the kernel has; 0 is none that is of use.
func landlock() int {
	v, _, wrong := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if wrong != 0 || v < leastLandlock {
		return 0
	}
	return int(v)
}

// startInside calls start on a thread that can write in the folder of a job alone, and so what it starts can. The thread is there until over is closed, if
// start succeeds: what it has started would end with it.
func startInside(version int, f Folder, start func() error, over <-chan struct{}) error {
	done := make(chan error)
	go onThread(func() {
		err := f.keepInside(version)
		if err == nil {
			err = start()
		}
		done <- err
		if err == nil {
			<-over
		}
	})
	return <-done
}

// onThread does something on a thread of its own, which ends with it; that is never the first, which stands for the process as a whole.
func onThread(do func()) {
	runtime.LockOSThread() // for good: nothing else is to run on it
	if unix.Gettid() != unix.Getpid() {
		do()
		return
	}
	defer runtime.UnlockOSThread()
	over := make(chan struct{})
	go func() {
		defer close(over)
		runtime.LockOSThread()
		do()
	}()
	<-over
}

// keepInside binds the thread that calls it, and all that it starts.
func (f Folder) keepInside(version int) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: reads | writes | makes}
	if version >= scopedLandlock {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	size := unsafe.Offsetof(attr.Quiet_access_fs) // the rest is of later versions
	fd, _, wrong := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if wrong != 0 {
		return fmt.Errorf("keeping a job in its folder: %w", wrong)
	}
	rules := ruleset(fd)
	defer unix.Close(int(fd))
	err := errors.Join(
		rules.allow(f.work(), reads|writes|makes), rules.allow(f.ctl(), reads|writes|makes), rules.allow("/dev/shm", reads|writes|makes),
		rules.allow("/dev", reads|writes), rules.allow("/proc", reads|writes), rules.allowBut(identityFolder(filepath.Dir(filepath.Dir(string(f))))),
	)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err == nil {
		if _, _, wrong := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); wrong != 0 {
			err = wrong
		}
	}
	if err != nil {
		return fmt.Errorf("keeping a job in its folder: %w", err)
	}
	return nil
}

// ruleset is what may be done where, by its descriptor.
type ruleset uintptr

// allow lets what is there, and below it, be used so; what is not there needs no rule.
func (r ruleset) allow(name string, access uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, wrong := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); wrong != 0 {
		return &os.PathError{Op: "allow", Path: name, Err: wrong}
	}
	return nil
}

// allowBut lets everything be read but what is below a folder: all that stands beside the way to it. On the way itself nothing is listed.
func (r ruleset) allowBut(hidden string) error {
	hidden, err := filepath.EvalSymlinks(hidden)
	if err != nil {
		return err
	}
	at := "/"
	for _, next := range strings.Split(strings.Trim(hidden, "/"), "/") {
		list, err := os.ReadDir(at)
		if err != nil && !errors.Is(err, os.ErrPermission) { // an account that cannot list a folder knows not what is there
			return err
		}
		for _, e := range list {
			if e.Name() == next || e.Type()&os.ModeSymlink != 0 {
				continue
			}
			if err := r.allow(filepath.Join(at, e.Name()), reads); err != nil {
				return err
			}
		}
		at = filepath.Join(at, next)
	}
	return nil
}
