// Package serve is the line between the commands of the fake batch system and its server: a
// unix socket in the server's folder. A client sends one Request as JSON and gets one
// Reply, or says the same as plain.go tells; it keeps its side open until then, so that the server sees when it is killed.
package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gbroker/test/fakebatch/batch"
	"gbroker/test/fakebatch/openpbs"
	"gbroker/test/fakebatch/torque"
)

// Request is a call of a command, or what a test wants of the server.
type Request struct {
	Call    *batch.Call
	Control *Control
}

// Control is what a test wants. All that is set is done.
type Control struct {
	Faults *batch.Faults // in place of those before
	Add    *batch.Fault  // besides those before
	Lose   string        // this job is forgotten
	Crash  string        // this node is lost, with what runs there, until Node says that it is up
	Node   *batch.Node   // takes the state of this node
	Job    string        // wanted: this job, "" is none
}

// Reply is the answer to either.
type Reply struct {
	batch.Answer
	Error string
	Jobs  []batch.Job
	Used  int // calls that were answered, since the start
}

// Face is a set of commands.
type Face struct {
	Commands   []string
	Queues     []batch.Queue
	Default    string
	ReadsStdin func(args []string) bool
	Serve      func(*batch.System, *batch.Call) batch.Answer
}

// Faces by name.
var Faces = map[string]Face{
	"torque":  {torque.Commands(), torque.Queues(), "batch", torque.ReadsStdin, torque.Serve},
	"openpbs": {openpbs.Commands(), openpbs.Queues(), "workq", openpbs.ReadsStdin, openpbs.Serve},
}

// Socket is where the server of a folder listens.
func Socket(dir string) string { return filepath.Join(dir, "socket") }

// ConfigFile is what the server of a folder is.
func ConfigFile(dir string) string { return filepath.Join(dir, "config.json") }

type server struct {
	system *batch.System
	face   Face
	used   int
	turned chan struct{} // closed at each change of the faults
}

// Run serves a folder until ctx is done; then it ends all jobs and returns when nothing is left.
// ready is called when it listens.
func Run(ctx context.Context, dir string, ready func()) error {
	text, err := os.ReadFile(ConfigFile(dir))
	if err != nil {
		return fmt.Errorf("reading what the fake batch system is to be: %w", err)
	}
	var c batch.Config
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("reading %s: %w", ConfigFile(dir), err)
	}
	face, ok := Faces[c.Face]
	if !ok {
		return fmt.Errorf("no face is called %q: torque or openpbs", c.Face)
	}
	c.Dir = dir
	c.Queues = append(append([]batch.Queue{}, face.Queues...), c.Queues...)
	if c.Default == "" {
		c.Default = face.Default
	}
	for _, kind := range []string{"script", "nodes", "out", "err"} {
		if err := os.MkdirAll(filepath.Join(dir, kind), 0o755); err != nil {
			return fmt.Errorf("making the folders of the fake batch system: %w", err)
		}
	}
	l, err := net.Listen("unix", Socket(dir))
	if err != nil {
		return fmt.Errorf("listening for the commands of the fake batch system: %w", err)
	}
	if err := os.Chmod(Socket(dir), 0o777); err != nil {
		return fmt.Errorf("opening the fake batch system to other users: %w", err)
	}
	s := &server{system: batch.New(c), face: face, turned: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() { s.system.Run(ctx) })
	all.Go(func() { <-ctx.Done(); l.Close() })
	ready()
	for {
		conn, err := l.Accept()
		if err != nil {
			break
		}
		all.Go(func() { s.answer(ctx, conn) })
	}
	all.Wait()
	return nil
}

// answer serves one client.
func (s *server) answer(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	var r Request
	from := bufio.NewReader(conn)
	first, err := from.Peek(1)
	plain := err == nil && first[0] == plainMark
	switch {
	case plain:
		r.Call, err = readPlain(conn, from, s.face)
	case err == nil:
		err = json.NewDecoder(from).Decode(&r)
	}
	if err != nil {
		return
	}
	gone := make(chan struct{})
	go func() { // ends with the connection
		defer close(gone)
		conn.Read(make([]byte, 1))
	}()
	defer func() { conn.SetReadDeadline(time.Now()); <-gone }()
	var reply Reply
	switch {
	case r.Control != nil:
		reply = s.control(r.Control)
	case r.Call != nil:
		a, ok := s.call(ctx, r.Call, gone)
		if !ok {
			return
		}
		if plain {
			writePlain(conn, a)
			return
		}
		reply.Answer = a
	}
	json.NewEncoder(conn).Encode(reply) // a client that is gone reads nothing
}

// call runs a command, with the fault that it meets; false where its client was gone before it acted.
func (s *server) call(ctx context.Context, c *batch.Call, gone <-chan struct{}) (batch.Answer, bool) {
	s.system.Lock()
	f, ok := s.system.Faults.Next(c.Command)
	lag := s.system.Faults.Lag
	s.used++
	s.system.Unlock()
	if lag > 0 && !wait(ctx, lag, nil) || !s.until(ctx, func(f *batch.Faults) bool { return !f.Stalled }) {
		return batch.Answer{}, false
	}
	if !ok {
		a := s.act(c)
		return a, s.until(ctx, func(f *batch.Faults) bool { return !f.Deaf })
	}
	switch f.When {
	case batch.Asking:
		if f.Wait > 0 && !wait(ctx, f.Wait, gone) {
			return batch.Answer{}, false
		}
	case batch.Late:
		if !wait(ctx, f.Wait, nil) {
			return batch.Answer{}, false
		}
	}
	if f.Refuse {
		return batch.Fail(f.Exit, "%s", f.Stderr), true
	}
	a := s.act(c)
	if f.When == batch.Answering && !wait(ctx, f.Wait, nil) {
		return batch.Answer{}, false
	}
	return a, true
}

func (s *server) act(c *batch.Call) batch.Answer {
	s.system.Lock()
	defer s.system.Unlock()
	c.Now = time.Now()
	return s.face.Serve(s.system, c)
}

// until waits for a change of the faults; false where the server ended before.
func (s *server) until(ctx context.Context, good func(*batch.Faults) bool) bool {
	for {
		s.system.Lock()
		done, turned := good(&s.system.Faults), s.turned
		s.system.Unlock()
		if done {
			return true
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return false
		}
	}
}

// wait is false where it ended before its time.
func wait(ctx context.Context, d time.Duration, gone <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-gone:
	case <-ctx.Done():
	}
	return false
}

// control does what a test wants.
func (s *server) control(c *Control) Reply {
	sys := s.system
	sys.Lock()
	defer sys.Unlock()
	if c.Faults != nil {
		sys.Faults = *c.Faults
	}
	if c.Add != nil {
		sys.Faults.Calls = append(sys.Faults.Calls, *c.Add)
	}
	if c.Lose != "" {
		sys.Lose(c.Lose)
	}
	if n := sys.Node(c.Crash); n != nil {
		sys.Crash(n, time.Now())
	}
	if c.Node != nil {
		n := sys.Node(c.Node.Name)
		if n == nil {
			return Reply{Error: "there is no node " + c.Node.Name}
		}
		n.Offline, n.Down, n.Unlisted, n.Note, n.Since = c.Node.Offline, c.Node.Down, c.Node.Unlisted, c.Node.Note, time.Now()
	}
	close(s.turned)
	s.turned = make(chan struct{})
	sys.Wake()
	reply := Reply{Used: s.used}
	for _, j := range sys.Jobs {
		reply.Jobs = append(reply.Jobs, *j)
	}
	return reply
}

// Ask sends a request to the server of a folder.
func Ask(ctx context.Context, dir string, r Request) (Reply, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", Socket(dir))
	if err != nil {
		return Reply{}, fmt.Errorf("calling the fake batch system's server: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return Reply{}, fmt.Errorf("calling the fake batch system's server: %w", err)
	}
	var reply Reply
	if err := json.NewDecoder(conn).Decode(&reply); err != nil {
		return Reply{}, fmt.Errorf("reading the answer of the fake batch system's server: %w", err)
	}
	if reply.Error != "" {
		return Reply{}, errors.New(reply.Error)
	}
	return reply, nil
}
