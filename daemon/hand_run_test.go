package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
)

// handOf is a site of one node in hand, in a folder of its own.
func handOf(t *testing.T) (Config, func() *Hand) {
	t.Helper()
	dir, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := DefaultInit()
	o.Dir, o.Site, o.Nodes, o.Cores, o.Listen = filepath.Join(dir, "s"), "here", 1, 1, "/ip4/127.0.0.1/tcp/0"
	cfg, err := Init(o)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, func() *Hand {
		h, err := OpenHand(t.Context(), cfg, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
}

func shellByHand(script string) grid.Job {
	return grid.Job{
		Name: "hand", Walltime: grid.Minute, Program: grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", script}},
		Demand:  grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
		Outputs: []grid.Output{{Path: grid.DefaultOutput, Target: grid.DefaultOutput, Required: true}},
	}
}

// What is done by hand is remembered by the next command: jobs that run, wait, are held, have ended, and are removed.
func TestByHand(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cfg, open := handOf(t)
	h := open()
	slow, err := h.Submit(ctx, shellByHand("sleep 100"), "")
	if err != nil || slow.Local == "" || slow.Submitted == 0 || strings.Join(slow.Command, " ") != "/bin/sh -c sleep 100" {
		t.Fatalf("%+v, %v", slow, err)
	}
	if p, err := h.Progress(ctx, slow); err != nil || p.Phase != grid.Started {
		t.Errorf("it is %+v, %v", p, err)
	}
	wide := shellByHand("true")
	wide.Demand.Chunks[0].Cores = 2
	if j, err := h.Submit(ctx, wide, ""); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("wider than the site: %+v, %v", j, err)
	}
	if err := h.Hold(ctx, slow); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("what runs is held: %v", err)
	}
	if _, err := h.Reserver(); err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	h = open()
	list, err := h.Jobs()
	if err != nil || len(list) != 1 || list[0].ID != slow.ID || list[0].Local != slow.Local {
		t.Fatalf("known are %+v, %v", list, err)
	}
	for _, name := range []string{string(slow.ID), string(slow.Local)} {
		if j, err := h.Find(name); err != nil || j.ID != slow.ID {
			t.Errorf("%s is %+v, %v", name, j, err)
		}
	}
	if _, err := h.Find("another"); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("one that nobody has: %v", err)
	}
	if gone, err := h.Remove(ctx, slow); gone || err != nil {
		t.Errorf("ended: %t, %v", gone, err)
	}
	if p, err := h.await(ctx, slow, time.Minute); err != nil || p.Phase != grid.Ended || p.Cause != grid.ByRequest {
		t.Errorf("it ended as %+v, %v", p, err)
	}
	quick := shellByHand("echo done")
	j, err := h.Submit(ctx, quick, "")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := h.await(ctx, j, time.Minute); err != nil || p.Phase != grid.Ended || p.ExitCode != 0 {
		t.Errorf("it ended as %+v, %v", p, err)
	}
	quick.ID = j.ID
	if text, missing, err := h.Collect(ctx, quick, grid.DefaultOutput); err != nil || len(missing) > 0 || string(text) != "done\n" {
		t.Errorf("it left %q, lacking %v, %v", text, missing, err)
	}
	lacking := shellByHand("exit 1")
	lacking.Outputs[0].Path = "none"
	poor, err := h.Submit(ctx, lacking, "")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := h.await(ctx, poor, time.Minute); err != nil || p.Phase != grid.Ended || p.ExitCode != 1 {
		t.Errorf("it ended as %+v, %v", p, err)
	}
	lacking.ID = poor.ID
	if text, missing, err := h.Collect(ctx, lacking, "none"); err != nil || len(missing) != 1 || text != nil {
		t.Errorf("what it did not leave: %q, %v, %v", text, missing, err)
	}
	for _, one := range []HandJob{slow, j, poor} {
		if gone, err := h.Remove(ctx, one); !gone || err != nil {
			t.Errorf("removed: %t, %v", gone, err)
		}
		if _, err := os.Stat(one.Folder); !os.IsNotExist(err) {
			t.Errorf("its folder is left: %v", err)
		}
	}
	if list, err := h.Jobs(); err != nil || len(list) != 0 {
		t.Errorf("left are %+v, %v", list, err)
	}
	broken := h.record(slow.ID)
	if err := errors.Join(os.WriteFile(filepath.Join(h.folder, "records", "other.txt"), nil, 0o600), os.WriteFile(broken, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Jobs(); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("a damaged record: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	cfg.Data = filepath.Join(cfg.Data, "none")
	if _, err := OpenHand(ctx, cfg, zap.NewNop()); !os.IsNotExist(errors.Unwrap(err)) && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a data folder: %v", err)
	}
}

// A site over the embedded batch system is examined: each line says what was tried, and nothing is left behind.
func TestExamine(t *testing.T) {
	t.Parallel()
	cfg, _ := handOf(t)
	examine := func(o DoctorOptions) map[string]Finding {
		t.Helper()
		all := map[string]Finding{}
		if err := Examine(t.Context(), cfg.File, o, func(f Finding) { all[f.Name] = f }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := examine(DoctorOptions{Job: true, Wait: 30 * time.Second})
	for _, name := range []string{"configuration", "test reservation", "reservations", "test job", "shared folder", "output", "node's clock", "estimate"} {
		if f := all[name]; f.Verdict != Fine || f.Text == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if len(all) < 7 {
		t.Errorf("told is %+v", all)
	}
	if all = examine(DoctorOptions{}); all["test job"].Verdict != Untried || all["output"].Verdict != "" {
		t.Errorf("without a job: %+v", all)
	}
	for _, folder := range []string{"records", "jobs"} {
		if left, err := os.ReadDir(filepath.Join(cfg.Data, "hand", folder)); err != nil && !os.IsNotExist(err) || len(left) > 0 && folder == "records" {
			t.Errorf("left in %s are %v, %v", folder, left, err)
		}
	}
	text, err := os.ReadFile(cfg.File)
	if err != nil {
		t.Fatal(err)
	}
	say := func(more string) map[string]Finding {
		t.Helper()
		if err := os.WriteFile(cfg.File, append(text[:len(text):len(text)], more...), 0o644); err != nil {
			t.Fatal(err)
		}
		return examine(DoctorOptions{})
	}
	if all := say("\nmail: {from: a@b.org, program: /none/sendmail}\n"); all["mail"].Verdict != Mend {
		t.Errorf("no program that sends mail: %+v", all["mail"])
	}
	if all := say("\nspeed: x\n"); all["configuration"].Verdict != Mend || all["batch system"].Verdict != Untried || len(all) != 2 {
		t.Errorf("a mistake in the file: %+v", all)
	}
	if err := Examine(t.Context(), filepath.Join(cfg.Data, "none.yaml"), DoctorOptions{}, func(Finding) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A site that waits for its job no longer than it may says so.
func TestExamineWithoutRoom(t *testing.T) {
	t.Parallel()
	cfg, open := handOf(t)
	h := open()
	j, err := h.Submit(t.Context(), shellByHand("sleep 100"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	var job Finding
	if err := Examine(t.Context(), cfg.File, DoctorOptions{Job: true, Wait: 300 * time.Millisecond}, func(f Finding) {
		if f.Name == "test job" {
			job = f
		}
	}); err != nil {
		t.Fatal(err)
	}
	if job.Verdict != Untried || !strings.Contains(job.Text, "waits still") {
		t.Errorf("%+v", job)
	}
	h = open()
	defer h.Close()
	if list, err := h.Jobs(); err != nil || len(list) != 1 || list[0].ID != j.ID {
		t.Errorf("left are %+v, %v", list, err)
	}
	if _, err := h.Remove(t.Context(), j); err != nil {
		t.Error(err)
	}
}
