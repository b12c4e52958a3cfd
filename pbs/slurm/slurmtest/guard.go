package slurmtest

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// sweep ends, with KILL, all processes that name the folder on their command line or in
// their environment (daemons, jobs' scripts, also those whose parents were killed before),
// slurmstepd, which hides both but has a log open there, and all of their descendants and
// sessions (programs with an environment of their own), until there are none, and removes the
// folder. It begins when its standard input ends: when close is called, or when the test
// binary has died.
const sweep = `trap '' HUP INT TERM
read -r dir || exit 1
cat >/dev/null
round=0
while [ $round -lt 100 ]; do
	found=
	for file in $(grep -lsaF -e "$dir" /proc/[0-9]*/environ /proc/[0-9]*/cmdline) \
		$(for comm in $(grep -lsx -e 'slurm.*' /proc/[0-9]*/comm); do
			ls -l "${comm%comm}fd" 2>/dev/null | grep -qF -e "$dir" && echo "$comm"
		done); do
		pid=${file#/proc/} found="$found ${pid%%/*}"
	done
	killed=
	for pid in $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v found="$found" '
		{ pid = $1; sub(/^.*\) /, ""); parent[pid] = $2; session[pid] = $4 }
		END {
			for (n = split(found, start, " "); n > 0; n--) if (start[n] in parent) hit[start[n]]
			do {
				more = 0
				for (p in parent) if (!(p in hit) && ((parent[p] in hit) || (session[p] in hit))) { hit[p]; more = 1 }
			} while (more)
			for (p in hit) print p
		}'); do
		[ "$pid" != $$ ] && kill -9 "$pid" 2>/dev/null && killed=yes
	done
	[ -n "$killed" ] || break
	round=$((round + 1))
	sleep 0.02
done
rm -rf "$dir"
`

// guard cleans a folder up, by sweep.
type guard struct {
	cmd  *exec.Cmd
	hold io.WriteCloser
}

func newGuard(dir string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", sweep)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start what cleans %s up: %w", dir, err)
	}
	if _, err := fmt.Fprintln(hold, dir); err != nil {
		return nil, err
	}
	return &guard{cmd, hold}, nil
}

// close cleans up and returns when that is done.
func (g *guard) close() error {
	g.hold.Close()
	return g.cmd.Wait()
}
