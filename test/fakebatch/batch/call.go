package batch

import (
	"fmt"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Call is a command that somebody has called.
type Call struct {
	Command string
	Args    []string
	User    string
	Dir     string
	Environ []string
	Stdin   []byte
	Now     time.Time `json:"-"`
}

// Answer is what the command writes, and its exit code.
type Answer struct {
	Stdout, Stderr []byte
	Exit           int
}

// Env is a variable of the caller's environment.
func (c *Call) Env(name string) string {
	for _, e := range c.Environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// Zone is the caller's time zone: texts have no other.
func (c *Call) Zone() *time.Location {
	if tz := c.Env("TZ"); tz != "" {
		if l, err := time.LoadLocation(tz); err == nil {
			return l
		}
	}
	return time.Local
}

// Path makes a path of the caller absolute.
func (c *Call) Path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.Dir, p)
}

// Home is the caller's folder.
func (c *Call) Home() string {
	if home := c.Env("HOME"); home != "" {
		return home
	}
	if u, err := user.Lookup(c.User); err == nil && u.HomeDir != "" {
		return u.HomeDir
	}
	return "/"
}

// Out, Say and End build an answer.
func Out(format string, args ...any) Answer { return Answer{Stdout: fmt.Appendf(nil, format, args...)} }

// Fail is an answer on stderr alone.
func Fail(exit int, format string, args ...any) Answer {
	return Answer{Stderr: fmt.Appendf(nil, format, args...), Exit: exit}
}

// And puts the answer for one operand behind those before it; the last exit code that is not 0 stays.
func (a Answer) And(b Answer) Answer {
	a.Stdout = append(a.Stdout, b.Stdout...)
	a.Stderr = append(a.Stderr, b.Stderr...)
	if b.Exit != 0 {
		a.Exit = b.Exit
	}
	return a
}

// ID is the full identifier of a number.
func (s *System) ID(n int) string { return strconv.Itoa(n) + "." + s.Host }

// FullID completes an identifier; false where it is not one of this server.
func (s *System) FullID(text string) (string, bool) {
	number, host, has := strings.Cut(text, ".")
	if !has {
		host = s.Host
	}
	if _, err := strconv.ParseUint(number, 10, 31); err != nil || host != s.Host {
		return text, false
	}
	return number + "." + host, true
}

// Directives are the options of a script's comments that begin with a prefix, up to its first command.
func Directives(script []byte, prefix string) []string {
	var out []string
	for _, line := range strings.Split(string(script), "\n") {
		switch {
		case strings.HasPrefix(line, prefix):
			out = append(out, strings.Fields(line[len(prefix):])...)
		case strings.TrimSpace(line) != "" && line[0] != '#':
			return out
		}
	}
	return out
}

// NotServed says that the fake batch system has no such thing: a test must not go on as if it had.
func NotServed(c *Call, what string) Answer {
	return Fail(2, "fakebatch: %s %s: the fake batch system does not serve %q\n", c.Command, strings.Join(c.Args, " "), what)
}
