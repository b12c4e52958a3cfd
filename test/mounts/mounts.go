// Package mounts lets the tests of a package mount what nobody else sees, and what is gone with
// their last process, however that ends.
package mounts

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// own marks a process that has a mount namespace of its own.
const own = "GBROKER_TEST_MOUNTS=own"

// Own begins this program anew in a mount namespace of its own, if it may make one. It is for the
// beginning of TestMain.
func Own() {
	if os.Geteuid() != 0 || os.Getenv("GBROKER_TEST_MOUNTS") == "own" {
		return
	}
	runtime.LockOSThread() // the namespace is the thread's, whose program is replaced
	defer runtime.UnlockOSThread()
	if unix.Unshare(unix.CLONE_NEWNS) != nil {
		return // what is mounted is then seen by all
	}
	err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "")
	if err == nil {
		err = unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), own))
	}
	panic(fmt.Sprintf("beginning the tests anew in a mount namespace: %v", err))
}
