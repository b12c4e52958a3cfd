package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gbroker/broker"
	"gbroker/store"
)

// data: what the daemon keeps must be there, be its user's, and have room. That others may enter it, and the mode of the keys, the
// configuration's line has told.
func (d *doctor) data() {
	const what = "data"
	jobs := d.folderOfJobs()
	var ill []string
	note := func(format string, args ...any) { ill = append(ill, fmt.Sprintf(format, args...)) }
	begun, err := store.Exists(d.cfg.Data)
	_, first := os.Lstat(filepath.Join(d.cfg.Dir(), firstStartName))
	switch {
	case err != nil:
		note("%v", err)
	case !begun && first == nil:
		d.fine(what, "%s is made at the first start", d.cfg.Data)
		return
	case !begun:
		note("%v", missingJournal(d.cfg.Data))
	case missing(jobs):
		note("%s (sandboxes) is missing, and this is not the first start of the site: mount its disk, or correct sandboxes in gbroker.yaml", jobs)
	}
	ill = append(ill, strangers(d.cfg.Data, os.Geteuid())...)
	for _, dir := range []string{d.cfg.Data, jobs} {
		ill = append(ill, d.unfit(dir)...)
	}
	slices.Sort(ill)
	for _, text := range slices.Compact(ill) {
		d.mend(what, "%s", text)
	}
	if len(ill) == 0 {
		d.fine(what, "%s (data) and %s (sandboxes) are of this site's user, and have room", d.cfg.Data, jobs)
	}
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// unfit says why a folder that is there is none to keep files of jobs in: others write to it, or its disk is full.
func (d *doctor) unfit(dir string) (ill []string) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []string{fmt.Sprintf("%s cannot be looked at: %v", dir, err)}
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		ill = append(ill, fmt.Sprintf("%s has mode %04o, so that others may write in it: chmod go-w it", dir, mode))
	}
	room := d.room
	if room == nil {
		room = freeIn
	}
	free, err := room(dir)
	switch {
	case err != nil:
		ill = append(ill, err.Error())
	case free < broker.Reserve:
		ill = append(ill, fmt.Sprintf("the disk of %s has %d MiB left, and below %d MiB nothing new is taken: make room, or move it to another disk", dir, free>>20, broker.Reserve>>20))
	}
	return ill
}

// freeIn is what is free for this user on the disk of a folder, in bytes.
func freeIn(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("looking at the space left for %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// strangers are the files of the data folder that the daemon's user does not own, such as those of a command that was run as root:
// the daemon cannot write them. All are to be of who owns the folder, which is this user, or this is root.
func strangers(data string, me int) (ill []string) {
	owner, err := ownerOf(data)
	if err != nil {
		return nil // it is not there, which is told
	}
	if me != 0 && owner != me {
		return []string{fmt.Sprintf("%s belongs to %s, and this is %s: run the command as the daemon's user, or chown -R it", data, account(owner), account(me))}
	}
	list, err := os.ReadDir(data)
	if err != nil {
		return []string{fmt.Sprintf("%s cannot be looked into: %v", data, err)}
	}
	var names []string
	for _, f := range list {
		if of, err := ownerOf(filepath.Join(data, f.Name())); err == nil && of != owner {
			names = append(names, f.Name())
		}
	}
	if len(names) > 0 {
		ill = append(ill, fmt.Sprintf("%s in %s are not of %s, as the folder is: chown -R %d %s", strings.Join(names, ", "), data, account(owner), owner, data))
	}
	return ill
}

func ownerOf(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), nil
}

// account is how a user is called, or his number.
func account(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}
