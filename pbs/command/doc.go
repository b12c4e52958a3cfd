// Package command runs the commands of a batch system: each with a time limit, in a process
// group of its own that is killed as a whole, with exactly the environment that is given,
// as the daemon's own account or another, and with bounds on what it may print.
//
// # What is an error
//
// An exit code is a value, whatever it is: every batch system means something else by it.
// Errors wrap grid.ErrUnavailable, as nothing is known then of what was asked: the command
// was not found, could not be started, printed more than is read, was killed by a signal, or
// took longer than its limit. A command whose time was over may still take effect later.
//
// # Accounts
//
// As root a command takes on the account's user, group and supplementary groups before it
// is executed. Otherwise it is run by "sudo -n -u ACCOUNT --", for which sudoers needs a rule
// such as
//
//	gbroker ALL=(alice,bob) NOPASSWD:SETENV: /usr/bin/sbatch, /usr/bin/scancel, /usr/bin/test
//
// A process under sudo is root's and cannot be killed by us: when its time is over we go on
// without it, and it ends by itself.
package command
