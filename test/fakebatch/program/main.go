// The fake batch system's one executable. Called by the name of a command (its link lies in the
// folder DIR/FACE), it is that command and asks the server of DIR. Called as
//
//	fakebatch serve DIR
//
// it is that server: DIR/config.json says what it is. It ends when its standard input
// does, and ends all jobs before.
//
// A link called sudo runs a command as another user of the fake batch system, without any right
// to: sudo -n -u ACCOUNT -- COMMAND. FAKEBATCH_USER is who calls, otherwise the user of the
// process.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"syscall"

	"gbroker/test/fakebatch/batch"
	"gbroker/test/fakebatch/serve"
)

func main() {
	exit, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakebatch:", err)
		exit = 254
	}
	os.Exit(exit)
}

func run() (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("finding out by which name it was called: %w", err)
	}
	name, face, dir := filepath.Base(self), filepath.Base(filepath.Dir(self)), filepath.Dir(filepath.Dir(self))
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		return 0, server(os.Args[2])
	case name == "sudo":
		return 0, sudo(filepath.Dir(self), os.Args[1:])
	}
	return call(dir, face, name, os.Args[1:])
}

// server serves until standard input ends: with the test that started it.
func server(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		defer stop()
		io.Copy(io.Discard, os.Stdin)
	}()
	return serve.Run(ctx, dir, func() { fmt.Println("ready") })
}

// call is one command.
func call(dir, face, name string, args []string) (int, error) {
	c := &batch.Call{Command: name, Args: args, User: caller(), Environ: os.Environ()}
	var err error
	if c.Dir, err = os.Getwd(); err != nil {
		return 0, fmt.Errorf("finding the working folder: %w", err)
	}
	if f := serve.Faces[face]; name == "qsub" && f.ReadsStdin != nil && f.ReadsStdin(args) {
		if c.Stdin, err = io.ReadAll(os.Stdin); err != nil {
			return 0, fmt.Errorf("reading the script: %w", err)
		}
	}
	reply, err := serve.Ask(context.Background(), dir, serve.Request{Call: c})
	if err != nil {
		return 0, err
	}
	if _, err := os.Stdout.Write(reply.Stdout); err != nil {
		return 0, fmt.Errorf("writing the answer: %w", err)
	}
	if _, err := os.Stderr.Write(reply.Stderr); err != nil {
		return 0, fmt.Errorf("writing the answer: %w", err)
	}
	return reply.Exit, nil
}

func caller() string {
	if name := os.Getenv("FAKEBATCH_USER"); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return "nobody"
	}
	return u.Username
}

// sudo becomes a command, called by another user.
func sudo(bin string, args []string) error {
	if len(args) < 5 || args[0] != "-n" || args[1] != "-u" || args[3] != "--" {
		return fmt.Errorf("sudo %q: only -n -u ACCOUNT -- COMMAND is served", args)
	}
	path := filepath.Join(bin, filepath.Base(args[4]))
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(args[4]); err != nil {
			return fmt.Errorf("finding the command for sudo: %w", err)
		}
	}
	if err := os.Setenv("FAKEBATCH_USER", args[2]); err != nil {
		return fmt.Errorf("setting the user: %w", err)
	}
	return fmt.Errorf("becoming %s: %w", path, syscall.Exec(path, args[4:], os.Environ()))
}
