package command

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Environment is what commands get where nothing else is said: plain messages in English, times in
// UTC, and PATH and HOME of this process.
func Environment() []string {
	path := os.Getenv("PATH")
	if path == "" {
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	home := os.Getenv("HOME")
	if home == "" {
		home = "/"
	}
	return []string{"LC_ALL=C", "TZ=UTC", "PATH=" + path, "HOME=" + home}
}

// find is the absolute path of a command.
func find(name string, folders, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	folders = append(slices.Clone(folders), filepath.SplitList(valueOf("PATH", env))...)
	for _, folder := range folders {
		full := filepath.Join(folder, name)
		info, err := os.Stat(full)
		if filepath.IsAbs(full) && err == nil && info.Mode().IsRegular() && unix.Access(full, unix.X_OK) == nil {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s is in none of the folders %s", name, strings.Join(folders, ":"))
}

func valueOf(name string, env []string) string {
	for _, e := range slices.Backward(env) {
		if value, is := strings.CutPrefix(e, name+"="); is {
			return value
		}
	}
	return ""
}

// identity is under whom a command runs.
type identity struct {
	name       string // "" is this process's own account
	home       string
	credential *syscall.Credential // as root
}

// account finds how to become the account name.
func account(name string) (identity, error) {
	if name == "" {
		return identity{}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return identity{}, fmt.Errorf("as account %q: %w", name, err)
	}
	if u.Uid == strconv.Itoa(os.Geteuid()) {
		return identity{}, nil
	}
	who := identity{name: name, home: u.HomeDir}
	if os.Geteuid() != 0 {
		return who, nil
	}
	groups, err := u.GroupIds()
	if err != nil {
		return who, fmt.Errorf("the groups of account %q: %w", name, err)
	}
	who.credential = &syscall.Credential{}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	who.credential.Uid, who.credential.Gid = uint32(uid), uint32(gid)
	for _, g := range groups {
		id, err := strconv.ParseUint(g, 10, 32)
		err2 = errors.Join(err2, err)
		who.credential.Groups = append(who.credential.Groups, uint32(id))
	}
	if err := errors.Join(err1, err2); err != nil {
		return who, fmt.Errorf("account %q: %w", name, err)
	}
	return who, nil
}

// environment is env with the account's own home and name.
func (who identity) environment(env []string) []string {
	if who.name == "" {
		return env
	}
	return append(slices.Clone(env), "HOME="+who.home, "USER="+who.name, "LOGNAME="+who.name)
}

// command is argv as it is executed to run under the account.
func (who identity) command(argv, folders, env []string) ([]string, error) {
	if who.name == "" || who.credential != nil {
		return argv, nil
	}
	sudo, err := find("sudo", nil, env)
	if err != nil {
		return nil, fmt.Errorf("as account %q: this daemon is not root, and %w", who.name, err)
	}
	// sudo makes an environment of its own: what must reach the command is said again.
	said := []string{sudo, "-n", "-u", who.name}
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); !slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME"}, name) {
			said = append(said, e)
		}
	}
	return append(append(said, "--"), argv...), nil
}
