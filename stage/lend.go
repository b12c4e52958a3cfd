package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"gbroker/grid"
	"gbroker/internal/acl"
)

// Lend opens the sandbox of a job, and its control folder, to the account under which its
// program will run, and to nobody else: another account of the same group has no part in them.
//
//	daemon is root    work/ becomes the account's. ctl/ stays root's, with an access control
//	                  list that lets the account in, and sticky: it removes nothing of ours. Where
//	                  the file system has no such lists ctl/ becomes the account's alone.
//	otherwise         lists for the account on what is ours, and, as a default for what it will
//	                  make, for the daemon; ctl/ is sticky. A file system without lists is an error.
//
// The account stands in the job's folder from then on, and is the only one for this job. It may
// be called again, also when the account has worked there: what is not ours is left as it is.
// Errors wrap ErrInvalid (the account) or ErrUnavailable (the file system).
func (s *Stager) Lend(ctx context.Context, job grid.JobID, account string) error {
	if err := s.lend(ctx, job, account); err != nil {
		return fmt.Errorf("opening the folders of %s to account %s: %w", job, account, err)
	}
	return nil
}

func (s *Stager) lend(ctx context.Context, job grid.JobID, account string) error {
	t, gid, err := lookUp(account)
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	if s.cfg.As == nil && s.uid != 0 {
		return errNoAccounts
	}
	_, end, err := s.begin(ctx, job)
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	defer end()
	root, err := s.folder(job)
	if err != nil {
		return err
	}
	defer root.Close()
	was, err := recorded(root)
	if err != nil {
		return err
	}
	if was != "" && was != account {
		return fmt.Errorf("%w: account %s has worked in them for this job before", grid.ErrInvalid, was)
	}
	work, err := root.OpenRoot(workDir)
	if err != nil {
		return diskError(err)
	}
	defer work.Close()
	g := grant{uid: t.uid, gid: gid, own: s.uid}
	if err := writeAtomic(root, tenancy, []byte(account+"\n")); err != nil {
		return diskError(err)
	}
	err = errors.Join(g.tree(work, "."), g.control(root))
	if errors.Is(err, acl.ErrUnsupported) {
		return fmt.Errorf("%w: %w: the daemon is not root, so these folders (sandboxes) must lie on one that has them, or the daemon run as root", grid.ErrUnavailable, err)
	}
	if err != nil {
		return diskError(err)
	}
	return nil
}

// grant is who is let in by whom.
type grant struct{ uid, gid, own uint32 }

// tree opens a folder and all in it that is ours. The account may be at work there: no link leads
// out, and what counts is what is open.
func (g grant) tree(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil // closed to us, its owner; not ours; gone meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if owner(info) == g.own && (info.IsDir() || info.Mode().IsRegular() && links(info) == 1) {
		if err := g.one(f, info); err != nil {
			return err
		}
	}
	if !info.IsDir() {
		return nil
	}
	list, err := f.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.IsDir() || e.Type().IsRegular() {
			if err := g.tree(root, path.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// one opens a folder or file of ours that has no other name.
func (g grant) one(f *os.File, info fs.FileInfo) error {
	if g.own == 0 {
		return f.Chown(int(g.uid), int(g.gid))
	}
	l, listed, err := acl.Get(f, acl.Access)
	if err != nil {
		return err
	}
	if !listed {
		l = acl.FromMode(info.Mode())
	}
	l.Users = map[uint32]acl.Rights{g.uid: l.Owner}
	if err := acl.Set(f, acl.Access, l); err != nil || !info.IsDir() {
		return err
	}
	return acl.Set(f, acl.Default, acl.List{Owner: acl.All, Users: map[uint32]acl.Rights{g.uid: acl.All, g.own: acl.All}})
}

// control opens ctl/, and nothing in it.
func (g grant) control(root *os.Root) error {
	f, err := root.Open(ctlDir)
	if err != nil {
		return err
	}
	defer f.Close()
	err = acl.Set(f, acl.Access, acl.List{Owner: acl.All, Users: map[uint32]acl.Rights{g.uid: acl.All}})
	if g.own == 0 && errors.Is(err, acl.ErrUnsupported) {
		return errors.Join(f.Chmod(0o700), f.Chown(int(g.uid), int(g.gid)))
	}
	if err == nil && g.own != 0 {
		err = acl.Set(f, acl.Default, acl.List{Owner: acl.All, Users: map[uint32]acl.Rights{g.own: acl.All}})
	}
	if err != nil {
		return err
	}
	return f.Chmod(0o770 | os.ModeSticky) // of the group this is the list's mask
}
