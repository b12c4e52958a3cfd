// Package pool makes a pool of shared desktops a site: a batch system whose nodes are computers that stay
// their owners'. On each of them an agent (package agent) runs; it opens all connections, and what both
// say is specified in package line.
package pool
