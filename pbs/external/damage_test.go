package external

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// asked is Progress with its error.
func (b *bench) asked(j grid.Submission) (grid.Progress, error) {
	return b.Progress(b.Context(), j.ID, j.Control)
}

// What the batch system shows, or has told the end of, is known without any control file; and
// what it does not answer about is not taken for damage.
func TestWithoutControlFilesTheListingTells(t *testing.T) {
	inBubble(t, func(b *bench) {
		j := b.job()
		id := b.submit(j)
		if err := os.RemoveAll(j.Control); err != nil {
			t.Fatal(err)
		}
		b.later(time.Minute)
		if p, err := b.asked(j); p.Phase != grid.Waiting || !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("while it waits: %+v, %v", p, err)
		}
		if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); ok || !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("withdrawn: %v, %v", ok, err)
		}
		b.far.change(id, func(k *Job) { k.State, k.NeverStarted = Running, false })
		b.later(time.Minute)
		if p, err := b.asked(j); p.Phase != grid.Started || !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("while it runs: %+v, %v", p, err)
		}
		b.far.set(func() { b.far.down = errDown })
		b.later(time.Hour)
		if p, err := b.asked(j); p.Phase != grid.Unknown || err == nil || errors.Is(err, grid.ErrDamaged) {
			t.Errorf("while the system does not answer: %+v, %v", p, err)
		}
		b.far.set(func() { b.far.down = nil })
		b.far.change(id, func(k *Job) { k.State, k.End = Done, &End{Cause: grid.ByItself} })
		b.later(5 * time.Minute)
		p, err := b.asked(j)
		if p.Phase != grid.Ended || p.Cause != grid.Disappeared || !errors.Is(err, grid.ErrDamaged) || !strings.Contains(p.Detail, "cannot be read") {
			t.Errorf("when it has ended: %+v, %v", p, err)
		}
	})
}

// One that no listing shows, and whose identifier the system does not know, is gone; one without
// an identifier may come yet.
func TestWithoutControlFilesAndListing(t *testing.T) {
	inBubble(t, func(b *bench) {
		j, lost := b.job(), b.job()
		id := b.submit(j)
		b.far.set(func() { b.far.stalled = true })
		if _, err := b.Submit(b.Context(), lost); err == nil {
			t.Fatal("submitted")
		}
		b.far.set(func() { b.far.stalled = false })
		for _, j := range []grid.Submission{j, lost} {
			if err := os.RemoveAll(j.Control); err != nil {
				t.Fatal(err)
			}
		}
		b.later(time.Minute)
		b.far.change(id, func(k *Job) { k.State, k.End = Done, nil })
		b.far.set(func() { b.far.forgetful = true })
		b.later(5 * time.Minute)
		if p, err := b.asked(j); p.Phase != grid.Ended || !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("what is gone: %+v, %v", p, err)
		}
		if p, err := b.asked(lost); p.Phase != grid.Unknown || !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("what may come yet: %+v, %v", p, err)
		}
	})
}

// What runs without readable control files can be ended, also where its spool file is lost.
func TestKillWithoutControlFiles(t *testing.T) {
	for _, spool := range []bool{true, false} {
		t.Run(map[bool]string{true: "with its spool file", false: "without"}[spool], func(t *testing.T) {
			inBubble(t, func(b *bench) {
				j := b.job()
				id := b.submit(j)
				b.far.change(id, func(k *Job) { k.State = Running })
				b.later(time.Minute)
				if err := os.RemoveAll(j.Control); err != nil {
					t.Fatal(err)
				}
				if !spool {
					names, _ := filepath.Glob(filepath.Join(b.config.Spool, "*"+jobSuffix))
					for _, n := range names {
						os.Remove(n)
					}
					b.restart()
					b.later(time.Minute)
				}
				if err := b.Kill(b.Context(), j.ID, j.Control); err != nil || !b.removed(id) {
					t.Errorf("Kill: %v; removed %v", err, b.far.gone())
				}
			})
		})
	}
}

// A lost token: what the wrapper wrote after it shows that the attempt has started.
func TestALostTokenIsNotFree(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(map[bool]string{false: "the token", true: "all files"}[all], func(t *testing.T) {
			inBubble(t, func(b *bench) {
				j := b.job()
				id := b.submit(j)
				if !b.begins(j, id) {
					t.Fatal("it does not start")
				}
				if err := control.WriteRun(j.Control, j.ID, control.Run{At: control.Now(), Leader: control.Process{PID: 7, Boot: "of a node"}}); err != nil {
					t.Fatal(err)
				}
				b.later(time.Minute)
				patterns := []string{"start.*"}
				if all {
					patterns = []string{"*"}
				}
				for _, p := range patterns {
					names, _ := filepath.Glob(filepath.Join(j.Control, p))
					for _, n := range names {
						os.Remove(n)
					}
				}
				if ok, err := b.Withdraw(b.Context(), j.ID, j.Control); ok || err != nil {
					t.Errorf("all %t: withdrawn while it runs: %v, %v", all, ok, err)
				}
				if p := b.progress(j); !all && p.Phase != grid.Started {
					t.Errorf("it is %+v", p)
				}
				if len(b.far.gone()) > 0 {
					t.Errorf("all %t: removed %v", all, b.far.gone())
				}
			})
		})
	}
}

// A folder with the name of a spooled file refuses no start: nobody wrote that here. It is moved aside.
func TestAFolderNamedLikeASpooledFile(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stop()
		var folders []string
		for _, suffix := range []string{jobSuffix, reservationSuffix} {
			name := filepath.Join(b.config.Spool, "x"+suffix)
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
			folders = append(folders, name)
		}
		b.start()
		for _, name := range folders {
			if _, err := os.Stat(name + ".corrupt"); err != nil {
				t.Error(err)
			}
		}
	})
}
