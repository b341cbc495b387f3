package tuned

import (
	"runtime/debug"
	"time"
)

// releaseAfter is how long nothing is reconciled before freed memory is given back.
const releaseAfter = 7 * time.Second

// release gives freed memory back to the kernel after the initial lists and after every burst. The
// runtime's own scavenger keeps a tenth above the heap goal of the last collection, which after a
// burst is that of the burst.
type release struct{ timer *time.Timer }

func newRelease() *release {
	return &release{time.AfterFunc(releaseAfter, debug.FreeOSMemory)}
}

// worked is called at the end of each reconcile.
func (r *release) worked() { r.timer.Reset(releaseAfter) }
