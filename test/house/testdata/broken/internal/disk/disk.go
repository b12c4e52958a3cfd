// Package disk knows the domain.
package disk

import _ "broken/jsdl"

const N = 1
