package overlay

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/wire"
)

const childVariable = "GBROKER_OVERLAY_CHILD"

// child runs an overlay in a process of its own, that can be stopped and killed for real.
func child() {
	var c struct {
		Key     string
		Listen  []string
		Members []grid.Member
	}
	if err := json.Unmarshal([]byte(os.Getenv(childVariable)), &c); err != nil {
		panic(err)
	}
	key, err := LoadKey(c.Key)
	if err != nil {
		panic(err)
	}
	o, err := New(Config{
		Key: key, Listen: c.Listen, Site: grid.Site{Name: "child"}, Members: c.Members, Profile: Test,
		Hello:   func() wire.Hello { return wire.Hello{Site: grid.Site{Name: "child", Processes: 1, Speed: 1}} },
		Receive: func(grid.PeerID, wire.Message) {},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	go func() {
		<-o.Ready()
		fmt.Println(o.Addresses()[0])
	}()
	if err := o.Run(ctx); err != nil {
		panic(err)
	}
}

func startChild(t *testing.T, key string, members ...grid.Member) (*exec.Cmd, string) {
	t.Helper()
	config, err := json.Marshal(map[string]any{"Key": key, "Listen": []string{"/ip4/127.0.0.1/tcp/0"}, "Members": members})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(config))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line := bufio.NewScanner(out)
	if !line.Scan() {
		t.Fatal("the child does not start")
	}
	return cmd, line.Text()
}

// Real processes: stopped, continued, killed, started again at another port.
func TestProcess(t *testing.T) {
	t.Parallel()
	all := several(t, 2)
	path := t.TempDir() + "/key"
	key, err := CreateKey(path)
	if err != nil {
		t.Fatal(err)
	}
	other := newBroker(t, "child")
	other.key = key
	connect(t, all, mesh(2))
	both := []grid.Member{all[0].as(), all[1].as()}
	cmd, address := startChild(t, path, both...)
	m := other.as()
	m.Addresses = []string{address}
	if err := all[0].over.SetMembers([]grid.Member{all[1].as(), m}); err != nil {
		t.Fatal(err)
	}
	if err := all[1].over.SetMembers([]grid.Member{all[0].as(), m}); err != nil {
		t.Fatal(err)
	}
	look := func(what string, l grid.Liveness) {
		t.Helper()
		begin := time.Now()
		for _, b := range all {
			b.sees(other, l)
		}
		t.Logf("%s: %v after %v", what, l, time.Since(begin).Round(time.Millisecond))
	}
	look("started", grid.Alive)
	cmd.Process.Signal(syscall.SIGSTOP)
	look("SIGSTOP", grid.Dead)
	cmd.Process.Signal(syscall.SIGCONT)
	look("SIGCONT", grid.Alive)
	cmd.Process.Kill()
	look("SIGKILL", grid.Doubtful)
	look("SIGKILL", grid.Dead)
	cmd.Wait()
	startChild(t, path, both...)
	look("started again", grid.Alive)
}
