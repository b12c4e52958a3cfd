package slurmtest

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"sync"
)

// keeper is what all clusters of a test binary share: the folder that holds theirs, and
// one munged.
type keeper struct {
	dir   string
	guard *guard
	munge *daemon
}

func (k *keeper) socket() string { return filepath.Join(k.dir, "munge", "socket") }

var shared struct {
	sync.Mutex
	keeper   *keeper
	clusters map[string]*Cluster
}

// keep is the keeper of this test binary; the lock of shared is held.
func keep() (*keeper, error) {
	if shared.keeper != nil {
		return shared.keeper, nil
	}
	// /tmp and not TMPDIR: paths of Unix sockets must be short.
	dir, err := os.MkdirTemp("/tmp", "slurm")
	if err != nil {
		return nil, err
	}
	k := &keeper{dir: dir}
	if k.guard, err = newGuard(dir); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if err := k.startMunge(); err != nil {
		k.close()
		return nil, err
	}
	shared.keeper = k
	return k, nil
}

func (k *keeper) startMunge() error {
	// Other accounts come through both folders; munged refuses what is closed to them.
	in := filepath.Join(k.dir, "munge")
	for _, dir := range []string{k.dir, in} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o711); err != nil {
			return err
		}
	}
	key := make([]byte, 128)
	rand.Read(key)
	if err := os.WriteFile(filepath.Join(in, "key"), key, 0o400); err != nil {
		return err
	}
	d, err := startDaemon("munged", "--foreground", "--num-threads=4",
		"--socket="+k.socket(), "--key-file="+filepath.Join(in, "key"), "--pid-file="+filepath.Join(in, "pid"),
		"--log-file="+filepath.Join(in, "log"), "--seed-file="+filepath.Join(in, "seed"))
	if err != nil {
		return err
	}
	k.munge = d
	return d.await("munged listens at its socket", func() bool {
		_, err := os.Stat(k.socket())
		return err == nil
	})
}

func (k *keeper) close() {
	k.guard.close()
	if k.munge != nil {
		<-k.munge.ended
	}
}
