// Package external is one pbs.System over the commands of any batch system; a Client
// for each kind translates.
package external
