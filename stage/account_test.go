package stage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// account acts in the name of the account under which a job ran: in this process, as it is that of this test.
type account struct {
	asked []string // words, and what is read from standard input, of each call
	says  func(ctx context.Context, out io.Writer) error
}

func (a *account) as(ctx context.Context, _ string, stdin io.Reader, out io.Writer, words ...string) error {
	var names []byte
	if stdin != nil {
		names, _ = io.ReadAll(stdin)
	}
	a.asked = append(a.asked, words[0]+" "+strings.ReplaceAll(string(names), "\x00", " "))
	if a.says != nil {
		return a.says(ctx, out)
	}
	return handover.Serve(words, bytes.NewReader(names), out)
}

// saying is an account's side that says this, and ends.
func saying(parts ...string) func(context.Context, io.Writer) error {
	return func(_ context.Context, out io.Writer) error {
		_, err := io.WriteString(out, "gbroker-sandbox 1\n"+strings.Join(parts, ""))
		return err
	}
}

// sent is a file on the way: of size bytes, it says, with these, and an end.
func sent(size int, text, end string) string {
	b := binary.BigEndian.AppendUint64([]byte("F\x00\x00\x01\xa0"), uint64(size)) // 0640
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	return string(b) + "\x00\x00\x00\x00" + end
}

// elsewhere is a site whose daemon is not root, with the folder of a job that ran under another account: that of this test.
func elsewhere(t *testing.T, change func(*Config)) (*Stager, *account) {
	t.Helper()
	a := &account{}
	s := newNetwork(t).site("a", func(c *Config) {
		c.As = a.as
		if change != nil {
			change(c)
		}
	})
	s.uid = uint32(os.Geteuid()) + 1
	if err := s.MakeFolder(job); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.path(tenancy), []byte(me.Username+"\n"), 0o600)
	return s, a
}

func outputsCalled(names ...string) (list []grid.Output) {
	for _, n := range names {
		list = append(list, grid.Output{Path: n, Target: "got/" + n, Required: true})
	}
	return list
}

// nothingLeft sees that no half file lies in part/.
func nothingLeft(t *testing.T, s *Stager) {
	t.Helper()
	if left, err := os.ReadDir(s.path(partDir)); err != nil || len(left) > 0 {
		t.Errorf("left in part/: %v, %v", left, err)
	}
}

// What a job left under another account comes by that account, by name and by pattern, as a copy; it is asked for once.
func TestOutputsComeByTheirAccount(t *testing.T) {
	t.Parallel()
	s, a := elsewhere(t, nil)
	j := grid.Job{ID: job, Outputs: outputsCalled("a", "d/b", "gone"), Bring: []grid.Bring{{Pattern: "*.dat"}}}
	files := map[string][]byte{"got/a": random(700 << 10), "got/d/b": []byte("b"), "x.dat": []byte("x")}
	write(t, s.path("work", "a"), files["got/a"], 0o640)
	write(t, s.path("work", "d/b"), files["got/d/b"], 0o600)
	write(t, s.path("work", "x.dat"), files["x.dat"], 0o600)
	for range 2 {
		m, missing, err := s.Collect(t.Context(), j)
		if err != nil || len(m) != 3 || fmt.Sprint(missing) != `["gone"]` {
			t.Fatalf("%v, missing %v, %v", m, missing, err)
		}
		want(t, s, Outputs, files)
	}
	if got := mode(t, s.path("out", "got/a")); got != 0o640 {
		t.Errorf("mode %v", got)
	}
	if _, err := os.Stat(s.path("work", "a")); err != nil {
		t.Errorf("the account's own is gone: %v", err)
	}
	if got := fmt.Sprintf("%q", a.asked); got != `["list " "send a d/b gone x.dat "]` {
		t.Errorf("the account was asked %s", got)
	}
}

// One file that its account cannot hand over keeps none of the others; tried again, it alone is asked for.
func TestOneThatIsNotHandedOver(t *testing.T) {
	t.Parallel()
	s, a := elsewhere(t, nil)
	j := grid.Job{ID: job, Outputs: outputsCalled("a", "b", "c")}
	a.says = saying(sent(1, "a", "D"), sent(4, "to", "E\x00\x04torn"), sent(1, "c", "D"))
	if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), `"b"`) || !strings.Contains(err.Error(), "torn") {
		t.Fatalf("collected: %v", err)
	}
	want(t, s, Outputs, map[string][]byte{"got/a": []byte("a"), "got/c": []byte("c")})
	if _, err := os.Stat(s.path("out", "got/b")); err == nil {
		t.Error("half a file counts as collected")
	}
	nothingLeft(t, s)
	a.says = saying(sent(4, "whole", "D"))
	if _, missing, err := s.Collect(t.Context(), j); err != nil || len(missing) > 0 {
		t.Fatalf("missing %v, %v", missing, err)
	}
	want(t, s, Outputs, map[string][]byte{"got/a": []byte("a"), "got/b": []byte("whole"), "got/c": []byte("c")})
	if got := fmt.Sprintf("%q", a.asked); got != `["send a b c " "send b "]` {
		t.Errorf("the account was asked %s", got)
	}
}

// Where all came before a crash the account is not asked at all.
func TestWhatCameBeforeACrashIsNotAskedFor(t *testing.T) {
	t.Parallel()
	s, a := elsewhere(t, nil)
	write(t, s.path("out", "got/a"), []byte("a"), 0o600)
	if _, missing, err := s.Collect(t.Context(), grid.Job{ID: job, Outputs: outputsCalled("a")}); err != nil || len(missing) > 0 || len(a.asked) > 0 {
		t.Errorf("missing %v, %v, asked %q", missing, err, a.asked)
	}
	want(t, s, Outputs, map[string][]byte{"got/a": []byte("a")})
}

// Whatever breaks on the way from an account, it is said, nothing half counts, and all is there when it is tried again.
func TestABrokenWayFromAnAccount(t *testing.T) {
	t.Parallel()
	whole := sent(3, "abc", "D")
	for name, c := range map[string]struct {
		says func(context.Context, io.Writer) error
		why  string
	}{
		"refused": {func(context.Context, io.Writer) error { return errors.New("a password is required") }, "a password is required"},
		"greets with nonsense": {func(_ context.Context, out io.Writer) error {
			io.WriteString(out, "Welcome to the cluster\n")
			return nil
		}, "Welcome"},
		"cut":        {saying(whole[:len(whole)-7]), "before its time"},
		"ends early": {saying(), "before its time"},
		"fails at last": {func(ctx context.Context, out io.Writer) error {
			saying(whole)(ctx, out)
			return errors.New("it was killed")
		}, "it was killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, a := elsewhere(t, nil)
			write(t, s.path("work", "a"), []byte("abc"), 0o600)
			j := grid.Job{ID: job, Outputs: outputsCalled("a")}
			a.says = c.says
			if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("collected: %v", err)
			}
			if text, err := os.ReadFile(s.path("out", "got/a")); err == nil && string(text) != "abc" {
				t.Errorf("it counts as %q", text)
			}
			nothingLeft(t, s)
			a.says = nil
			if _, missing, err := s.Collect(t.Context(), j); err != nil || len(missing) > 0 {
				t.Fatalf("again: missing %v, %v", missing, err)
			}
			want(t, s, Outputs, map[string][]byte{"got/a": []byte("abc")})
		})
	}
}

// A look for outputs that breaks is done again: nothing is left out for good.
func TestABrokenLookIsDoneAgain(t *testing.T) {
	t.Parallel()
	s, a := elsewhere(t, nil)
	write(t, s.path("work", "x.dat"), []byte("x"), 0o600)
	j := grid.Job{ID: job, Bring: []grid.Bring{{Pattern: "*.dat"}}}
	for why, says := range map[string]func(context.Context, io.Writer) error{
		"before its time": saying(), "it was killed": func(ctx context.Context, out io.Writer) error {
			saying("D")(ctx, out)
			return errors.New("it was killed")
		},
	} {
		a.says = says
		if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), why) {
			t.Fatalf("%s: %v", why, err)
		}
	}
	a.says = nil
	if m, missing, err := s.Collect(t.Context(), j); err != nil || len(m) != 1 || len(missing) > 0 {
		t.Errorf("%v, missing %v, %v", m, missing, err)
	}
}

// What an account cannot list all of is told as what may be missing, and what it did list comes.
func TestALookThatDidNotSeeAll(t *testing.T) {
	t.Parallel()
	s, a := elsewhere(t, nil)
	list := "L" + strings.Repeat("\x00", 15) + "\x01\x00\x05x.dat" + "E\x00\x04full"
	a.says = func(ctx context.Context, out io.Writer) error {
		if len(a.asked) == 1 {
			return saying(list)(ctx, out)
		}
		return saying(sent(1, "x", "D"))(ctx, out)
	}
	j := grid.Job{ID: job, Bring: []grid.Bring{{Pattern: "*.dat"}}}
	m, missing, err := s.Collect(t.Context(), j)
	if err != nil || len(m) != 1 || len(missing) != 1 || missing[0].Path != "*.dat" || !strings.Contains(missing[0].Why, "full") || !strings.Contains(missing[0].Why, "not all were looked at") {
		t.Errorf("%v, missing %v, %v", m, missing, err)
	}
}

// An account's word for a length is not believed: no job fills the disk, or leaves more than it may, by saying less than it sends.
func TestAnAccountSendsMoreThanItSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size, most, free int
		want             error
	}{
		"as much as it may": {0, 1000, 6 << 20, nil}, "a byte more": {0, 999, 6 << 20, grid.ErrInvalid}, "a full disk": {0, 1000, 999, grid.ErrUnavailable},
		"a full disk at once": {1000, 1000, 999, grid.ErrUnavailable}, "a disk that just holds it": {1000, 1000, 1000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, a := elsewhere(t, func(k *Config) {
				k.MaxBytes, k.Reserve = int64(c.most), 1
				k.Free = func() (int64, error) { return int64(c.free) + 1, nil }
			})
			text := random(1000)
			a.says = saying(sent(c.size, string(text), "D"))
			_, _, err := s.Collect(t.Context(), grid.Job{ID: job, Outputs: outputsCalled("a")})
			if c.want == nil && err != nil || !errors.Is(err, c.want) {
				t.Fatalf("collected: %v", err)
			}
			nothingLeft(t, s)
			if c.want == nil {
				want(t, s, Outputs, map[string][]byte{"got/a": text})
			} else if _, err := os.Stat(s.path("out", "got/a")); err == nil {
				t.Error("it counts as collected")
			}
		})
	}
}

// An account that sends slowly is waited for; one that sends nothing any more is not.
func TestASilentAccountIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := elsewhere(t, func(c *Config) { c.IdleTimeout = time.Minute })
		quiet := 40 * time.Second
		a.says = func(ctx context.Context, out io.Writer) error {
			for _, part := range []string{"gbroker-sandbox 1\n", sent(1, "a", "D"), "F\x00\x00\x01\xa0", "\x00\x00\x00\x00\x00\x00\x00\x02"} {
				io.WriteString(out, part)
				select {
				case <-time.After(quiet):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		began := time.Now()
		_, _, err := s.Collect(t.Context(), grid.Job{ID: job, Outputs: outputsCalled("a", "b")})
		if took := time.Since(began); took != 3*quiet+time.Minute || !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "nothing came for 1m0s") {
			t.Errorf("after %v: %v", took, err)
		}
		want(t, s, Outputs, map[string][]byte{"got/a": []byte("a")})
	})
}

// Where accounts are no more used, or this one is gone, what a job left under it stays, and the way out is told.
func TestAJobWhoseAccountIsNoMoreUsed(t *testing.T) {
	t.Parallel()
	s, _ := elsewhere(t, nil)
	j := grid.Job{ID: job, Outputs: outputsCalled("a")}
	write(t, s.path("work", "a"), []byte("a"), 0o600)
	as := s.cfg.As
	s.cfg.As = nil
	if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "map users again") {
		t.Errorf("without accounts: %v", err)
	}
	s.cfg.As = as
	name, err := os.ReadFile(s.path(tenancy))
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.path(tenancy), []byte("no-such-account\n"), 0o600)
	if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "the account under which it ran") {
		t.Errorf("with an account that is gone: %v", err)
	}
	if got, err := s.ReadLive(j, "got/a", 0, 1); err == nil {
		t.Errorf("nobody knows whose it is, and it is given: %q", got)
	}
	write(t, s.path(tenancy), name, 0o600)
	if _, missing, err := s.Collect(t.Context(), j); err != nil || len(missing) > 0 {
		t.Errorf("with it again: missing %v, %v", missing, err)
	}
}

// A part of a file that only its account can read comes by it: that part, and no more.
func TestAPartComesByItsAccount(t *testing.T) {
	t.Parallel()
	s, a := elsewhere(t, nil)
	root, err := s.folder(job)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	who, err := s.tenant(root)
	if err != nil {
		t.Fatal(err)
	}
	data := random(300 << 10)
	write(t, s.path("work", "d/a"), data, 0o640)
	f, err := s.partAs(who, job, "d/a", 1000, 200<<10)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 200<<10)
	if _, err := f.ReadAt(got, 1000); err != nil || !bytes.Equal(got, data[1000:1000+200<<10]) || f.size != int64(len(data)) || f.mode != 0o640 {
		t.Errorf("%d bytes, mode %o, %v", f.size, f.mode, err)
	}
	if n := f.available(1000, 1<<20); n != 200<<10 {
		t.Errorf("%d bytes of it can be had", n)
	}
	if f, err := s.partAs(who, job, "d/a", 0, 0); err != nil || f.size != int64(len(data)) {
		t.Errorf("how long it is: %d, %v", f.size, err)
	}
	if _, err := s.partAs(who, job, "gone", 0, 1); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	for name, says := range map[string]func(context.Context, io.Writer) error{
		"cannot read it": saying("E\x00\x06closed"),
		"greets otherwise": func(_ context.Context, out io.Writer) error {
			_, err := io.WriteString(out, "hello, who are you?\n")
			return err
		},
		"is refused":     func(context.Context, io.Writer) error { return errors.New("a password is required") },
		"sends far more": saying(sent(200<<10, string(random(200<<10)), "D")),
	} {
		a.says = says
		if f, err := s.partAs(who, job, "d/a", 0, 10); !errors.Is(err, grid.ErrUnavailable) || f.ReaderAt != nil {
			t.Errorf("an account that %s: %v, %v", name, f, err)
		}
	}
	a.says = saying(sent(20, "more than ten bytes..", "D"))
	if f, err := s.partAs(who, job, "d/a", 0, 10); err != nil || f.available(0, 20) != 10 {
		t.Errorf("of ten bytes %d come, %v", f.available(0, 20), err)
	}
}
