// Package wire imports upwards.
package wire

import "broken/api/util"

var N = util.N
