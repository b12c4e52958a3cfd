package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"gbroker/grid"
)

// lockFile is held by the agent of a folder for as long as it runs.
const lockFile = "lock"

// errLocked tells that another process holds it.
var errLocked = errors.New("another process has it")

// seize makes this process the only agent of a folder, until it lets go.
func seize(dir string) (release func(), err error) {
	f, err := lock(dir)
	if errors.Is(err, errLocked) {
		pid, _ := os.ReadFile(filepath.Join(dir, lockFile))
		return nil, fmt.Errorf("%w: an agent runs over %s already (process %.10s): stop it first", grid.ErrInvalid, dir, pid)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the folder of the agent: %w", err)
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	}
	if err != nil {
		return nil, fmt.Errorf("locking the folder of the agent: %w", errors.Join(err, f.Close()))
	}
	return func() { f.Close() }, nil
}

// Runs tells whether an agent runs over a folder.
func Runs(dir string) (bool, error) {
	runs, err := locked(dir)
	if err != nil {
		return false, fmt.Errorf("looking whether an agent runs over %s: %w", dir, err)
	}
	return runs, nil
}
