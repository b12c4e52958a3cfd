// Package fakebatch gives tests a batch system that is none: commands called qsub, qstat
// and so on, which answer as TORQUE with Maui (face torque) or OpenPBS (face openpbs)
// were recorded to, and really run jobs on this machine, on nodes that are virtual.
//
//	batch     nodes, queue, scheduler, reservations, processes
//	torque    the commands and words of one face
//	openpbs   those of the other
//	serve     the line between a command and the server
//	program   the executable: every command, and the server
//	command   every command in C, which starts faster: it is taken where it can be built
//
// Start starts a server for a test and stops it with the test; nothing of it is left.
// Any number run beside each other. Needs neither root nor a real batch system.
package fakebatch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed" // the source of the commands
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gbroker/test/fakebatch/batch"
	"gbroker/test/fakebatch/serve"
)

// patience bounds every wait for the server.
const patience = 2 * time.Minute

// Server is one batch system.
type Server struct {
	Bin string // the folder of the commands, to be first on PATH
	Dir string // all files of the server; Bin lies in it
	tb  testing.TB
}

// Nodes makes n nodes of c cores: node01, node02, ... (n01, ... for openpbs).
func Nodes(face string, n, c int) []batch.Node {
	pattern := map[string]string{"torque": "node%02d", "openpbs": "n%02d"}[face]
	var out []batch.Node
	for i := range n {
		out = append(out, batch.Node{Name: fmt.Sprintf(pattern, i+1), Cores: c, Memory: "16gb", Properties: []string{"compute"}})
	}
	return out
}

// Start starts a system of a face. Zero values of the configuration become those of the
// recordings, but for times: history 5 min, grace 2 s.
func Start(tb testing.TB, c batch.Config) *Server {
	tb.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		tb.Skip("jobs of the fake batch system are scripts of sh, which is not on PATH: install it")
	}
	face, ok := serve.Faces[c.Face]
	if !ok {
		tb.Fatalf("the fake batch system has no face %q: torque or openpbs", c.Face)
	}
	complete(&c)
	program, command, release, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	dir, err := os.MkdirTemp("", "fakebatch") // short: a socket's path has a limit of 107 bytes
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{Bin: filepath.Join(dir, c.Face), Dir: dir, tb: tb}
	if err := s.links(command, face.Commands...); err != nil {
		tb.Fatal(err)
	}
	if err := s.links(program, "sudo"); err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(serve.ConfigFile(dir), text, 0o644)
	}
	if err == nil {
		err = s.serve(program)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func complete(c *batch.Config) {
	if c.Host == "" {
		c.Host = "pbs1"
	}
	if c.Nodes == nil {
		c.Nodes = Nodes(c.Face, map[string]int{"torque": 2, "openpbs": 4}[c.Face], 4)
	}
	if c.History == 0 {
		c.History = 5 * time.Minute
	}
	if c.Grace == 0 {
		c.Grace = 2 * time.Second
	}
}

// links makes the commands: links to one executable, which knows itself by its path.
func (s *Server) links(program string, names ...string) error {
	for _, dir := range []string{s.Dir, s.Bin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the folder of the commands: %w", err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return fmt.Errorf("opening the folder of the commands: %w", err)
		}
	}
	for _, name := range names {
		if err := os.Link(program, filepath.Join(s.Bin, name)); err != nil {
			return fmt.Errorf("making the command %s: %w", name, err)
		}
	}
	return nil
}

// serve starts the server; it stops with the test, or with this process.
func (s *Server) serve(program string) error {
	cmd := exec.Command(program, "serve", s.Dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("starting the fake batch system's server: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the fake batch system's server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the fake batch system's server: %w", err)
	}
	s.tb.Cleanup(func() {
		in.Close()
		last := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer last.Stop()
		if err := cmd.Wait(); err != nil {
			s.tb.Errorf("the fake batch system's server ended badly: %v\n%s", err, said.String())
		}
	})
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		return fmt.Errorf("the fake batch system's server did not start: %q: %w", said.String(), errors.Join(err, errors.New("no word of it")))
	}
	return nil
}

// the executables are built once for all servers that run at one time.
var built struct {
	sync.Mutex
	dir     string
	command string
	uses    int
}

func build() (program, command string, release func(), err error) {
	built.Lock()
	defer built.Unlock()
	if built.uses == 0 {
		if err := compile(); err != nil {
			return "", "", nil, err
		}
	}
	built.uses++
	return programIn(built.dir), built.command, func() {
		built.Lock()
		defer built.Unlock()
		if built.uses--; built.uses == 0 {
			os.RemoveAll(built.dir)
		}
	}, nil
}

func programIn(dir string) string { return filepath.Join(dir, "fakebatch") }

//go:embed command/command.c
var source []byte

// compile makes a folder with the executables.
func compile() (err error) {
	if built.dir, err = os.MkdirTemp("", "fakebatch"); err != nil {
		return fmt.Errorf("making a folder for the fake batch system: %w", err)
	}
	if err := os.Chmod(built.dir, 0o755); err != nil {
		return fmt.Errorf("making a folder for the fake batch system: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	built.command = programIn(built.dir)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", built.command, "gbroker/test/fakebatch/program")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(built.dir)
		return fmt.Errorf("building the fake batch system: %w\n%s", err, out)
	}
	in := filepath.Join(built.dir, "command")
	cmd = exec.CommandContext(ctx, cmp.Or(os.Getenv("CC"), "gcc"), "-O1", "-static", "-s", "-o", in, "-x", "c", "-")
	cmd.Stdin = bytes.NewReader(source)
	if cmd.Run() == nil { // else the program is the commands, and slower
		built.command = in
	}
	return nil
}

// Path is a PATH on which the commands are first.
func (s *Server) Path() string { return s.Bin + ":" + os.Getenv("PATH") }

// Answer is what a command wrote.
type Answer struct {
	Stdout, Stderr string
	Exit           int
}

// Run runs a command of the fake batch system as a user ("" is this process's own), with the
// environment LC_ALL=C and TZ=UTC.
func (s *Server) Run(user, stdin, name string, args ...string) Answer {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.Bin, name), args...)
	cmd.Dir = s.Dir
	cmd.Env = []string{"PATH=" + s.Path(), "HOME=" + s.Dir, "LC_ALL=C", "TZ=UTC", "FAKEBATCH_USER=" + user}
	cmd.Stdin = strings.NewReader(stdin)
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.tb.Fatalf("%s %q: %v", name, args, err)
	}
	return Answer{out.String(), bad.String(), cmd.ProcessState.ExitCode()}
}

// control asks the server for something that no command does.
func (s *Server) control(c serve.Control) serve.Reply {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := serve.Ask(ctx, s.Dir, serve.Request{Control: &c})
	if err != nil {
		s.tb.Fatal(err)
	}
	return r
}
