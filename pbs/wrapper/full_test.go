package wrapper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// On a full disk nothing starts before there is room, and the end is told once there is.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k,nr_inodes=64"); err != nil {
			t.Skipf("a small file system cannot be mounted here (%v): run it as root", err)
		}
		t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
		n := newNode(t, shell, sh("echo ran >> ran"))
		n.Control = filepath.Join(disk, "ctl")
		if err := errors.Join(os.Mkdir(n.Control, 0o755), control.WriteSubmit(n.Control, n.ID)); err != nil {
			t.Fatal(err)
		}
		filler := filepath.Join(disk, "filler")
		if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); err == nil {
			t.Fatal("the disk does not fill up")
		}
		cmd := n.command()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		n.until("it tries", func() bool {
			names, _ := filepath.Glob(filepath.Join(n.Control, ".tmp.start*"))
			return len(names) > 0
		})
		if _, taken, err := control.ReadToken(n.Control, n.ID); taken || n.exists("ran") {
			t.Errorf("the token is taken on a full disk, %v", err)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if end := n.end(); end.Cause != grid.ByItself || n.read("ran") != "ran\n" {
			t.Errorf("ended %+v", end)
		}
		if _, taken, err := control.ReadToken(n.Control, n.ID); !taken || err != nil {
			t.Errorf("the token is not whole: %v, %v", taken, err)
		}
	})
}

// A disk that is full when the program is made ready is waited for, wherever that shows.
func TestFullDiskBeforeTheProgram(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for tool, script := range map[string]string{
			"mkdir": `case $1 in */d) [ -e ../once ] || { : >../once; echo "mkdir: cannot create directory './d': No space left on device" >&2; exit 1; } ;; esac`,
			"awk":   `case $* in *want=*) [ -e ../once ] || { : >../once; echo "awk: write failure (No space left on device)" >&2; exit 2; } ;; esac`,
			"mv":    `case $* in */hosts.*) [ -e ../once ] || { : >../once; echo "mv: cannot create regular file '$3': Disk quota exceeded" >&2; exit 1; } ;; esac`,
		} {
			n := newNode(t, shell, sh("exit 3"))
			n.Program.Directory = "d"
			n.tool(tool, script+`; exec /bin/`+tool+` "$@"`)
			if code, said := n.run(); code != 3 {
				t.Errorf("%s: code %d: %s", tool, code, said)
			}
		}
	})
}

// So it is where the host file of all sites is written.
func TestFullDiskBehindTheBarrier(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n, cmd := atBarrier(t, shell, sh("exit 3"), func(n *node) {
			n.tool("mv", `case $* in */sites.*) [ -e "$3.once" ] || { : >"$3.once"; echo "mv: cannot move '$2' to '$3': No space left on device" >&2; exit 1; } ;; esac; exec /bin/mv "$@"`)
		})
		if err := errors.Join(control.WriteGo(n.Control, n.ID, nil), control.WriteBegun(n.Control, n.ID)); err != nil {
			t.Fatal(err)
		}
		if got := code(t, cmd.Wait()); got != 3 {
			t.Errorf("it ended with %d", got)
		}
	})
}

// A name is not taken for what the system says of a disk.
func TestNamesLikeAFullDisk(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		const name = "No space left on device"
		for what, change := range map[string]func(n *node){
			"no executable":          func(n *node) { n.Program.Executable = name },
			"no input":               func(n *node) { n.Program.Input = name },
			"output by a link":       func(n *node) { n.Program.Output = name; os.Symlink("x", filepath.Join(n.Work, name)) },
			"output is a folder":     func(n *node) { n.Program.Output = name + "/x"; n.write(name, "", 0o644) },
			"directory is a file":    func(n *node) { n.Program.Directory = name; n.write(name, "", 0o644) },
			"output in what is none": func(n *node) { n.Program.Output = "d/" + name + "/x"; n.write("d/"+name, "", 0o644) },
		} {
			n := newNode(t, shell, sh("exit 0"))
			change(n)
			cmd := n.command()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { cmd.Wait(); close(done) }()
			t.Cleanup(func() {
				syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				<-done
			})
			n.await(done)
			if end := n.end(); end.Cause != grid.NeverRan || !strings.Contains(end.Detail, name) {
				t.Errorf("%s: ended %+v", what, end)
			}
		}
	})
}
