// Package script reads the batch scripts that users have, of sbatch and of qsub (TORQUE's and OpenPBS's), as
// the jobs that JSDL describes. It is pure.
//
// # Which lines are directives
//
// The rules are those of the programs themselves.
//
//	sbatch   lines that begin with #SBATCH in the first column, up to the first line that is neither empty
//	         nor a comment. Words are split at blanks; ' and " quote, \ escapes, and # outside of quotes
//	         begins a comment.
//	qsub     lines that begin with #PBS (or the prefix of -C) after any blanks, up to the first line that is
//	         neither empty nor a comment nor begins with a colon. ' and " quote, \ escapes; there are no
//	         comments. A line that ends in \ goes on in the next, and is refused: qsub runs a copy of
//	         the script in which they are one, but here the script itself travels.
//
// A script with #SBATCH lines is one of Slurm, and its #PBS lines are not read: each has a warning.
// A script with #PBS lines alone is one of OpenPBS where a directive is used that TORQUE does not have
// (select, place, -J and so on), else one of TORQUE. A script with neither is a job of one process.
// The last of several directives that say the same holds, each before it has a warning; what is given
// beside the script, as on the command line, comes after all of them.
//
// # What becomes of a directive
//
// Each has one entry in a table (slurm.go, pbs.go, resources.go), which says its names, the form of its
// value, and what it does here, or why it is refused and what to write. Nothing else is known of
// directives: parser and documents go through the table. What cannot be carried over is refused by line
// and column, or, where the job runs the same without it, has a warning; nothing is silently ignored.
//
// # What travels
//
// The script itself is the program, under its own name, with the arguments given beside it. Its job has a
// [grid.Dialect], for which the site gives it the variables that such scripts expect: those that follow
// from the script are written into the job here (environ.go), those of the place where it runs come
// with package pbs/dialect.
package script
