package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/overlay"
)

// Check reads a site as Load does, but goes on where Load gives up: everything that
// would keep the daemon from starting is a mistake. The error is for files that
// cannot be read at all.
func Check(file string) (Config, Mistakes, error) {
	c, wrong, err := loadConfig(file)
	if err != nil {
		return c, nil, err
	}
	var own grid.PeerID
	switch key, err := overlay.LoadKey(c.IdentityFile()); {
	case errors.Is(err, fs.ErrNotExist):
		wrong = append(wrong, Mistake{File: shown(file, c.IdentityFile()),
			Text: "there is no identity key: restore it from a backup, or make a new site with `gbroker init`"})
	case err != nil:
		wrong = append(wrong, Mistake{File: shown(file, c.IdentityFile()), Text: err.Error()})
	default:
		own = overlay.PeerIDOf(key)
	}
	n, more, err := loadNeighbours(c, shown(file, c.Neighbours), own)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		more = Mistakes{{File: shown(file, c.Neighbours), Text: "there is no file of neighbours: write one that says members: []"}}
	case err != nil:
		return c, nil, err
	}
	c.Neighbourhood = n
	wrong = append(wrong, more...)
	return c, append(wrong, checkFiles(c, file)...), nil
}

// checkFiles looks at what the configuration points to.
func checkFiles(c Config, file string) Mistakes {
	var wrong Mistakes
	note := func(path, format string, args ...any) {
		wrong = append(wrong, Mistake{File: shown(file, path), Text: fmt.Sprintf(format, args...)})
	}
	if info, err := os.Stat(c.Data); err == nil {
		switch mode := info.Mode().Perm(); {
		case !info.IsDir():
			note(c.Data, "the data folder is no folder: move the file away")
		case mode&0o077 != 0:
			note(c.Data, "the data folder has mode %04o, so that others may enter the jobs' sandboxes: chmod 700 it", mode)
		default:
			if err := unwritable(unix.Access(c.Data, unix.W_OK)); err != nil {
				note(c.Data, "%v", err)
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		note(c.Data, "the data folder cannot be looked at: %v", err)
	}
	if c.API == "" {
		return wrong
	}
	switch info, err := os.Stat(c.TokenFile()); {
	case errors.Is(err, fs.ErrNotExist):
		note(c.TokenFile(), "api is set, and its token is not there: write a line of at least 32 random characters, mode 0600, or remove api")
	case err != nil:
		note(c.TokenFile(), "the token cannot be looked at: %v", err)
	case info.Mode().Perm()&0o077 != 0:
		note(c.TokenFile(), "the token has mode %04o and can be read by others: chmod 600 it", info.Mode().Perm())
	}
	return wrong
}

// unwritable says why the data folder cannot be written, and the way out; nil is that it can.
func unwritable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EROFS):
		return errors.New("the data folder is on a read-only file system: make that writable, or set data to a folder elsewhere")
	case errors.Is(err, unix.EACCES):
		return errors.New("the data folder cannot be written by this user: run the command as the daemon's user, or chown it")
	}
	return fmt.Errorf("the data folder cannot be written: %w", err)
}
