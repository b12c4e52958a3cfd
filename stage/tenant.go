package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gbroker/grid"
)

// tenant is under which account the program of a job works in its sandbox; the zero value is
// the daemon's own.
type tenant struct {
	name string
	uid  uint32
	// apart tells that this process is not root: only the account itself has all rights to what it makes.
	apart bool
}

// lookUp finds an account.
func lookUp(name string) (t tenant, gid uint32, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return t, 0, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	g, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return tenant{name: name, uid: uint32(uid)}, uint32(g), errors.Join(err1, err2)
}

// recorded is the account that stands in a job's folder; "" is none.
func recorded(root *os.Root) (string, error) {
	text, err := root.ReadFile(tenancy)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", diskError(err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

// tenant is the one of a job's folder.
func (s *Stager) tenant(root *os.Root) (tenant, error) {
	name, err := recorded(root)
	if name == "" || err != nil {
		return tenant{}, err
	}
	t, _, err := lookUp(name)
	if err != nil {
		return t, fmt.Errorf("%w: the account under which it ran: %w", grid.ErrUnavailable, err)
	}
	t.apart = s.uid != 0
	return t, nil
}

// mayHave refuses files that a program under another account has put into its sandbox by a
// hard link (where the system allows that) or otherwise, and perhaps could not read: by us
// it would.
func (t tenant) mayHave(info fs.FileInfo) error {
	uid := owner(info)
	if t.name == "" || uid == t.uid || uid == uint32(os.Geteuid()) && links(info) == 1 {
		return nil
	}
	return fmt.Errorf("%w: it belongs to the account with uid %d, not to %s, and is not handed out", grid.ErrForbidden, uid, t.name)
}

func owner(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

func links(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) }

// Limits of what is done in the name of an account.
const (
	sendLimit  = 24 * time.Hour // and no longer than the idle time without a byte
	clearLimit = 10 * time.Minute
)

// errNoAccounts tells that the folder of a job is an account's, and accounts are no more used.
var errNoAccounts = fmt.Errorf("%w: another account has worked in this job's folder, and this broker acts for none now: map users again until the job is gone", grid.ErrUnavailable)

// act runs gbroker/internal/handover as the tenant, no longer than the idle time without a byte.
func (s *Stager) act(ctx context.Context, t tenant, limit time.Duration, stdin io.Reader, out io.Writer, words ...string) error {
	if s.cfg.As == nil {
		return errNoAccounts
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := s.cfg.As(ctx, t.name, stdin, out, words...); err != nil {
		return fmt.Errorf("%w: as account %s: %w", grid.ErrUnavailable, t.name, err)
	}
	return nil
}

// removeLent removes a folder of a job in which an account may have worked: first as us, then
// what is closed to us as the account.
func (s *Stager) removeLent(ctx context.Context, root *os.Root, job grid.JobID, name string) error {
	err := removeTree(root, name)
	if err == nil {
		return nil
	}
	t, bad := s.tenant(root)
	if bad != nil || !t.apart {
		return errors.Join(err, bad)
	}
	bad = s.act(ctx, t, clearLimit, nil, io.Discard, "clear", filepath.Join(s.cfg.Root, string(job), name))
	if err := removeTree(root, name); err != nil {
		return errors.Join(err, bad)
	}
	return nil
}

// inWork opens a file of work/ for reading, if the program's account could have.
func (s *Stager) inWork(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	work, err := root.OpenRoot(workDir)
	if err != nil {
		return nil, nil, err
	}
	defer work.Close()
	f, info, err := openRegular(work, name)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.tenant(root)
	if err == nil {
		err = t.mayHave(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return f, info, nil
}
