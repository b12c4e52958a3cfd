package netmon

import . "time"

func nap() { Sleep(1) }
